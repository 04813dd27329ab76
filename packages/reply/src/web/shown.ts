import { alwaysOffer } from '../ask/always.ts'
import { askDetails } from '../ask/details.ts'
import type { Ask, PermissionAsk, PermissionReply } from '../ask.ts'

/** Whether all that a person decides about is known. The input of a call often arrives after its ask. */
export function isAskKnown(ask: Ask): boolean {
  return ask.type === 'question' || ask.callID === undefined || ask.call !== undefined
}

/**
 * Returns the answers that a pending permission takes. Nothing is allowed unseen, and `always` only if it doesn't reach too far.
 */
export function permissionAnswers(ask: PermissionAsk): readonly PermissionReply[] {
  if (askDetails(ask) === undefined) return ['reject']
  return alwaysOffer(ask).type === 'offered' ? ['once', 'always', 'reject'] : ['once', 'reject']
}

/** Returns a call's input as JSON. One that is nested too deeply can't be written, and can't be allowed either. */
export function inputJson(input: unknown): string {
  try {
    return JSON.stringify(input)
  } catch {
    return JSON.stringify('The input is nested too deeply to be shown.')
  }
}

/** Whether a page can load a file by its URL. A path on the agent's computer means nothing there, and a script must not run. */
export function isLoadable(url: string): boolean {
  return /^(?:https?:\/\/|data:)/i.test(url)
}
