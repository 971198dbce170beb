"""
Discs as true circles
=====================

For a few features the discs are drawn as circles in the complex plane, with the eigenvalues as
crosses.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda

metric = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
gda.plotting.discs(metric, names=["length", "width", "depth"], circles=True)
plt.show()
