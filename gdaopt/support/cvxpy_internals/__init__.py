"""What this package needs of CVXPY beyond its public names; no other module imports such.

It works with CVXPY 1.7 to 1.9, and says where these differ. Importing it loads CVXPY: modules that
must not do so take it from `gdaopt.support.cvxpy_loading`. tests/support/test_cvxpy_internals.py
has a test for each thing that is relied on. Its name says what another version has changed.
"""

from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.atom import Atom
from cvxpy.lin_ops.lin_utils import ID_COUNTER
from cvxpy.reductions.eval_params import replace_params_with_consts

from gdaopt.support.cvxpy_internals.forms import (
    AffineExpressions,
    ConeForm,
    split,
    write_in_affine_atoms,
)
from gdaopt.support.cvxpy_internals.models import (
    VERSION,
    differentiate,
    get_label,
    list_cones,
    list_solvers,
    list_terms,
    norm_argument,
    record_solution,
    record_status,
    register_atom,
    set_label,
    solver_interface,
    squared_argument,
    symmetric_part,
)

__all__ = [
    "ID_COUNTER",
    "VERSION",
    "AffAtom",
    "AffineExpressions",
    "Atom",
    "ConeForm",
    "differentiate",
    "get_label",
    "list_cones",
    "list_solvers",
    "list_terms",
    "norm_argument",
    "record_solution",
    "record_status",
    "register_atom",
    "replace_params_with_consts",
    "set_label",
    "solver_interface",
    "split",
    "squared_argument",
    "symmetric_part",
    "write_in_affine_atoms",
]
