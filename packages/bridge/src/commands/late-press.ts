import { BridgeError } from '../error.ts'
import { texts } from '../texts.ts'

/** A press was not carried out, because its time is over. The message is for the person. */
export class LatePressError extends BridgeError {
  constructor() {
    super('inbound', texts.notTaken)
    this.name = 'LatePressError'
  }
}

/**
 * Returns how much time of a press is left, in ms. Throws a `LatePressError` once it is over. Call it right before the step that has the effect, after everything
 * that is awaited: the process may have been stopped meanwhile, or the state or the server may have taken long.
 */
export type RequireDue = () => number
