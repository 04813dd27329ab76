/**
 * The host rejects with it if it can't take an action, because another process works in its place. The platform is not
 * told that the action was taken, so that it delivers it to that process.
 */
export class NotTakenError extends Error {
  constructor() {
    super('The action was not taken.')
    this.name = 'NotTakenError'
  }
}
