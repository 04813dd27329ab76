import { ReplyError } from '../../error.ts'
import type { SessionScopedEvent } from '../../event.ts'
import type { Engine } from '../engine.ts'
import type { LiveReply } from '../replies.ts'

type OpenedEvent = Extract<SessionScopedEvent, { type: 'opened' }>

/**
 * Applies the event and returns the live reply that it opens. Throws `gone` if none opens, because the session was
 * removed.
 */
export function openReplyFor(event: OpenedEvent, engine: Engine): LiveReply {
  const { sessionID } = event
  let opened: LiveReply | undefined
  const stop = engine.replies.onOpened((next) => {
    if (next.sessionID === sessionID) opened = next
  })
  engine.apply([event])
  stop()
  if (!opened) throw new ReplyError('gone', `Session ${sessionID} was removed while the prompt was being sent.`)
  return opened
}
