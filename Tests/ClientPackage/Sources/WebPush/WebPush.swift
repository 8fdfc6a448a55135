/// Stands for a client's own module of this name.
public enum WebPush {}
