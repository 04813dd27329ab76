import { ReplyError } from '../../error.ts'
import type { Part } from '../../part.ts'
import { type SessionRef, sessionRefOf } from '../../session-ref.ts'
import type { CommandInput, SessionInput } from '../../source/input.ts'
import type { Guarded, GuardTarget } from '../../source/port.ts'
import { unrevertedMessages } from '../connection/newest-run.ts'
import { sessionFields } from '../connection/read-snapshot.ts'
import { toReplyError } from '../connection/session-reader.ts'
import type { Drive } from '../drive.ts'

/** What runs ask the server about a session. */
export interface Sessions {
  /**
   * Finds or creates the session of a prompt and applies its current state, so that existing messages don't count as
   * the prompt's reply. Rejects with `invalid` for a sub-agent's session, and with `unguarded` if the agent would act
   * unasked on a guarded prompt.
   */
  prepare(input: SessionInput & Partial<Pick<CommandInput, 'command'>>): Promise<PreparedPlace>
  /** See `Source.guard`. Also rejects with `unguarded` for a source that has none. */
  guard(target: GuardTarget): Promise<Guarded>
  /** Reads the session and applies the result. Reports errors instead of rejecting. */
  refresh(place: SessionRef): Promise<void>
  /** The text of a user message; undefined if it can't be read, empty if it isn't stored yet. */
  textOf(place: SessionRef, messageID: string): Promise<string | undefined>
  /** Finds where a session lives, over REST if unknown. Rejects with `gone` if the session doesn't exist. */
  find(sessionID: string): Promise<SessionRef>
}

/** A session before a prompt is posted. */
export interface PreparedPlace extends SessionRef {
  /** Its newest message that the prompt won't remove. Absent if it has none, or can't be read. */
  readonly newestMessageID?: string | undefined
  /** When the agent asks before it acts. Absent for a prompt that isn't guarded, and in a new session. */
  readonly guarded?: Guarded | undefined
}

/** `directory` is where new sessions are created. Default: the server's own. */
export function createSessions(drive: Drive, directory: string | undefined): Sessions {
  const { engine, source, info, reader, clock, onError } = drive
  return { prepare, guard, refresh, textOf, find }

  async function prepare(input: Parameters<Sessions['prepare']>[0]): Promise<PreparedPlace> {
    if (input.sessionID === undefined) return await create(input)
    // First: a run that the snapshot doesn't show began with the rules.
    const guarded = input.guarded ? await guard({ ...targetOf(input), ...(await find(input.sessionID)) }) : undefined
    return { ...(await readRoot(input.sessionID)), guarded }
  }

  async function create(input: Parameters<Sessions['prepare']>[0]): Promise<PreparedPlace> {
    const { title, agent, model, variant, guarded } = input
    const home = directory === undefined ? undefined : await source.spelled(directory)
    if (guarded) await guard({ ...targetOf(input), directory: home })
    const created = await source.create({ directory: home, title, agent, model, variant, guarded })
    engine.apply([{ type: 'session', sessionID: created.sessionID, at: clock.now(), ...sessionFields(created) }])
    return sessionRefOf(created)
  }

  async function guard(target: GuardTarget): Promise<Guarded> {
    if (source.guard) return await source.guard(target)
    const words = `${source.name} can't be told to ask before it runs commands and edits files.`
    throw new ReplyError('unguarded', `${words} Only let people prompt it who may approve that.`)
  }

  async function readRoot(sessionID: string): Promise<PreparedPlace> {
    const place = engine.place(sessionID)
    if (!info.current().canRead) return await knownRoot(place)
    const snapshot = await reader.read({ ...place, reply: engine.openReply(sessionID), gap: false })
    requireRoot(sessionID, snapshot.session.parentID)
    engine.apply([snapshot])
    return { ...engine.place(sessionID), newestMessageID: unrevertedMessages(snapshot).at(-1)?.head.id }
  }

  /** A server that shows no state of sessions still knows them. */
  async function knownRoot(place: SessionRef): Promise<SessionRef> {
    const known = await source.session(place)
    requireRoot(place.sessionID, known.parentID)
    engine.apply([{ type: 'session', sessionID: place.sessionID, at: clock.now(), ...sessionFields(known) }])
    return sessionRefOf(known)
  }

  async function refresh(place: SessionRef): Promise<void> {
    try {
      engine.apply(await reader.readEvents({ ...place, reply: engine.openReply(place.sessionID), gap: false }))
    } catch (error) {
      onError(toReplyError(error))
    }
  }

  async function textOf(place: SessionRef, messageID: string): Promise<string | undefined> {
    try {
      const message = await source.message(place, messageID)
      return message && writtenText(message.parts)
    } catch {
      // Used only to distinguish prompts; an unknown text is taken for ours.
      return undefined
    }
  }

  async function find(sessionID: string): Promise<SessionRef> {
    const place = engine.place(sessionID)
    return place.directory === undefined ? sessionRefOf(await source.session(place)) : place
  }
}

function targetOf({ agent, command }: Parameters<Sessions['prepare']>[0]): GuardTarget {
  return { agent, command }
}

export function requireRoot(sessionID: string, parentID: string | undefined): void {
  if (parentID === undefined) return
  const words = `Session ${sessionID} belongs to a sub-agent; prompt the session that started it, ${parentID}.`
  throw new ReplyError('invalid', words)
}

/** What a person typed, without the server's additions. */
export function writtenText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : [])).join('\n\n')
}
