"""Problems of many features: losses of distances, of which no array has K×K numbers."""
