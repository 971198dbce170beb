"""What every part of the package needs: checks of input, texts, files, deadlines, workers."""
