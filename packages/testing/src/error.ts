/**
 * What failed: the scripted model, the installation or launch of a server, reading a recording, or finding a demo
 * scenario. A platform's name means that its fake was used wrongly.
 */
export type TestingFailure =
  | 'model'
  | 'install'
  | 'launch'
  | 'recording'
  | 'scenario'
  | 'telegram'
  | 'whatsapp'
  | 'discord'
  | 'slack'
  | 'ntfy'

/** The package's only error class. Its message names the failure, the value, and the fix. */
export class TestingError extends Error {
  override readonly name = 'TestingError'
  /** What failed. */
  readonly type: TestingFailure

  constructor(type: TestingFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
