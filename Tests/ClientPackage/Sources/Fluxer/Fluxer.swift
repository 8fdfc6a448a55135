import WebPush

/// Stands for a client's own module of this name.
public enum Fluxer {}
