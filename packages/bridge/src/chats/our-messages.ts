import type { MessageRef } from '@reply/sink'
import type { Mirrors } from '../config/mirrors.ts'
import { type ChatPlace, chatKey, placeKey } from '../place.ts'
import { toUsedSession, type UsedSession } from '../state/decode.ts'
import type { State } from '../state/state.ts'

// Any member may read these rows, because each is found by its whole key.

/** Whether the place is a thread that has a route, or that a mirror of the config names. False for a whole chat. */
export async function isOurThread(
  { state, mirrors }: { readonly state: Pick<State, 'read'>; readonly mirrors: Pick<Mirrors, 'isNamed'> },
  place: ChatPlace,
): Promise<boolean> {
  if (place.chat.thread === undefined && place.chat.isThread !== true) return false
  if (mirrors.isNamed(place)) return true
  // A mirrored thread has no route of its own.
  for (const kind of ['route', 'ours']) if ((await state.read(`${kind}/${placeKey(place)}`)) !== undefined) return true
  return false
}

/** Returns the session that a message belongs to, with the thread that it was stored for. Undefined if none is stored. */
export async function sessionOfMessage(
  state: Pick<State, 'read'>,
  place: ChatPlace,
  { id }: MessageRef,
): Promise<UsedSession | undefined> {
  const stored = await state.read(`message/${chatKey(place)}/${id}`)
  return stored === undefined ? undefined : toUsedSession(stored)
}
