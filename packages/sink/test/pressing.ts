import type { AskPress } from '../src/asks/asks.ts'
import type { Fake } from '../src/testing/fake.ts'

/** A press of the button with that token, on the message that has it. */
export function pressing({ fake }: { readonly fake: Pick<Fake, 'posted'> }, token: string): AskPress {
  const on = fake.posted.find(({ buttons }) => buttons.flat().some(({ data }) => data === token))
  return { token, messageRef: { id: on?.id ?? 'none' } }
}
