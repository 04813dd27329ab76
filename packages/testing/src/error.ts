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

/** Every failure of this package: the message says what failed, with the value, and what to do about it. */
export class TestingError extends Error {
  override readonly name = 'TestingError'
  readonly type: TestingFailure

  constructor(type: TestingFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
