import { toReadMessages, toReadSession } from '../../decode/rest.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { Part } from '../../part.ts'
import type { Place } from '../../place.ts'
import type { Clock } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import type { Places } from '../sync/places.ts'
import type { ReadSession } from '../sync/read-snapshot.ts'
import type { Rest } from '../transport/rest.ts'
import { type SessionInput, toCreateBody } from './prompt-input.ts'

/** What runs ask the server about a session. */
export interface Sessions {
  /**
   * Finds or creates the session of a prompt and applies its current state, so that existing messages don't count as
   * the prompt's reply. Rejects with `invalid` for a sub-agent's session.
   */
  prepare(input: SessionInput): Promise<Place>
  /** Reads the session and applies the result. Reports errors instead of rejecting. */
  refresh(place: Place): Promise<void>
  /** The text of a user message; undefined if it can't be read, empty if it isn't stored yet. */
  textOf(place: Place, messageID: string): Promise<string | undefined>
  /** Finds where a session lives, over REST if unknown. Rejects with `gone` if the session doesn't exist. */
  find(sessionID: string): Promise<Place>
}

export interface SessionsOptions {
  readonly engine: Engine
  readonly rest: Rest
  readonly places: Places
  readonly read: ReadSession
  readonly clock: Clock
  readonly onError: OnError
  /** The directory of new sessions. Default: the server's own. */
  readonly directory: string | undefined
}

export function createSessions({ engine, rest, places, read, clock, onError, directory }: SessionsOptions): Sessions {
  return { prepare, refresh, textOf, find }

  async function prepare(input: SessionInput): Promise<Place> {
    return input.sessionID === undefined ? await create(input) : await readRoot(input.sessionID)
  }

  async function create(input: SessionInput): Promise<Place> {
    const home = directory === undefined ? undefined : await places.spelled(directory)
    const created = toReadSession(await rest.create(home, toCreateBody(input)))
    if (!created)
      throw new ReplyError('malformed', 'The server answered POST /session with something that is not a session.')
    const { id, ...known } = created
    engine.apply([{ type: 'session', sessionID: id, at: clock.now(), ...known }])
    return { sessionID: id, directory: known.directory ?? home }
  }

  async function readRoot(sessionID: string): Promise<Place> {
    const snapshot = await read({ ...engine.place(sessionID), reply: engine.openReply(sessionID), gap: false })
    if (snapshot.session.parentID !== undefined) {
      const words = `Session ${sessionID} belongs to a sub-agent; prompt the session that started it, ${snapshot.session.parentID}.`
      throw new ReplyError('invalid', words)
    }
    engine.apply([snapshot])
    return engine.place(sessionID)
  }

  async function refresh(place: Place): Promise<void> {
    try {
      engine.apply([await read({ ...place, reply: engine.openReply(place.sessionID), gap: false })])
    } catch (error) {
      if (error instanceof ReplyError) onError(error)
    }
  }

  async function textOf(place: Place, messageID: string): Promise<string | undefined> {
    try {
      const [message] = toReadMessages([await rest.message(place, messageID)], onError)
      return message && writtenText(message.parts)
    } catch {
      // Used only to distinguish prompts; an unknown text is taken for ours.
      return undefined
    }
  }

  async function find(sessionID: string): Promise<Place> {
    const place = engine.place(sessionID)
    if (place.directory !== undefined) return place
    return { sessionID, directory: toReadSession(await rest.session(place))?.directory }
  }
}

/** What a person typed, without the server's additions. */
function writtenText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : [])).join('\n\n')
}
