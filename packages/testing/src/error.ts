/**
 * What failed: a fake of that name was used wrongly, or the scripted model, the installation or launch of a server, a
 * recording, or a demo scenario by its name.
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

/** The package's only error class: the message says what failed, with the value, and what to do about it. */
export class TestingError extends Error {
  override readonly name = 'TestingError'
  /** What failed. */
  readonly type: TestingFailure

  constructor(type: TestingFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
