"""Local models in the ONNX format: their files, and their execution in a thread of their own."""
