import { inspect } from 'node:util'
import { expect } from 'vitest'

/** How a call ended: `done`, or the error's fields. Fails if the error contains a token. */
export async function ending(call: Promise<unknown> | undefined): Promise<object> {
  try {
    await call
    return { type: 'done' }
  } catch (error) {
    tellsNothing(error)
    return error instanceof Error ? error : { type: String(error) }
  }
}

/** Fails if an error contains one of the channels' tokens at any depth. */
export function tellsNothing(error: unknown): void {
  expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/very-secret|interaction-token/)
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/very-secret|interaction-token/)
}
