import { ReplyError } from '../../error.ts'
import { type SessionRef, sessionRefOf } from '../../session-ref.ts'
import type { CommandInput, SessionInput } from '../../source/input.ts'
import type { Guarded, GuardTarget } from '../../source/port.ts'
import { writtenText } from '../../track/written-text.ts'
import { answeredMessages, unrevertedMessages } from '../connection/newest-run.ts'
import type { Drive } from '../drive.ts'
import { sessionFields } from '../read-snapshot.ts'
import { toReplyError } from '../session-reader.ts'

/** Finds, creates and reads the sessions of runs. */
export interface Sessions {
  /**
   * Finds or creates a prompt's session, applies its current state, and resolves with it. Existing messages then don't
   * count as the prompt's reply. Rejects with `invalid` for a sub-agent's session, and with `unguarded` if a guarded
   * prompt can't be guarded.
   */
  prepare(input: SessionInput & Partial<Pick<CommandInput, 'command'>>): Promise<PreparedPlace>
  /**
   * Makes the source ask before it runs commands and edits files. Resolves with when that applies (see `Source.guard`).
   * Rejects with `unguarded` if that isn't possible.
   */
  guard(target: GuardTarget): Promise<Guarded>
  /**
   * Reads the session and applies the result. Opens the replies of runs that the stream missed since then, in ms since the epoch
   * by the server's clock. Reports an error and resolves with it, instead of rejecting.
   */
  refresh(place: SessionRef, since?: number): Promise<ReplyError | undefined>
  /**
   * The text that a person wrote in a message, empty if there is none, and whether any part of it is stored yet. Undefined if
   * the server doesn't have it. Rejects if it can't be read.
   */
  readWrittenText(place: SessionRef, messageID: string): Promise<WrittenText | undefined>
  /**
   * Resolves with a session and its directory, which is read over REST if it is unknown. Rejects with `gone` if the
   * session doesn't exist.
   */
  find(sessionID: string): Promise<SessionRef>
}

/** What a person wrote in a message, as far as it is stored. */
export interface WrittenText {
  readonly text: string
  readonly isStored: boolean
}

/** A session before a prompt is posted. */
export interface PreparedPlace extends SessionRef {
  /** The id of its newest message that is not reverted. Absent if there is none or it can't be read. */
  readonly newestMessageID?: string | undefined
  /** The ids of its messages up to the last answer, as far as they were read. Absent if they can't be read. */
  readonly answeredIDs?: readonly string[] | undefined
  /** When the guard applies. Absent for a new session and for a prompt that isn't guarded. */
  readonly guarded?: Guarded | undefined
}

/**
 * Creates the functions that find and read sessions. `directory` is the directory of new ones. Default: the server's
 * own.
 */
export function createSessions(drive: Drive, directory: string | undefined): Sessions {
  const { engine, source, info, reader, clock, onError } = drive
  return { prepare, guard, refresh, readWrittenText, find }

  /**
   * Finds or creates a prompt's session, guards it if asked, applies its state and resolves with it. Rejects with
   * `invalid` for a sub-agent's session, with `unguarded` if it can't be guarded, and if the server doesn't answer.
   */
  async function prepare(input: Parameters<Sessions['prepare']>[0]): Promise<PreparedPlace> {
    if (input.sessionID === undefined) return await createGuarded(input)
    // First, because a run that the snapshot doesn't show yet began with the rules.
    const guarded = input.guarded
      ? await guard({ ...guardTargetOf(input), ...(await find(input.sessionID)) })
      : undefined
    return { ...(await readAndApplyRoot(input.sessionID)), guarded }
  }

  /**
   * Creates a session in the client's directory, guarded if the prompt is, and applies its fields. Rejects with
   * `unguarded` if it can't be guarded.
   */
  async function createGuarded(input: Parameters<Sessions['prepare']>[0]): Promise<PreparedPlace> {
    const { title, agent, model, variant, guarded } = input
    const home = directory === undefined ? undefined : await source.spelled(directory)
    if (guarded) await guard({ ...guardTargetOf(input), directory: home })
    const created = await source.create({ directory: home, title, agent, model, variant, guarded })
    engine.apply([{ type: 'session', sessionID: created.sessionID, at: clock.now(), ...sessionFields(created) }])
    return sessionRefOf(created)
  }

  /** Makes the source ask before it acts. Rejects with `unguarded` if it has no guard. */
  async function guard(target: GuardTarget): Promise<Guarded> {
    if (source.guard) return await source.guard(target)
    throw new ReplyError(
      'unguarded',
      `${source.name} can't be told to ask before it runs commands and edits files. Only grant prompts to people who may approve them too.`,
    )
  }

  /**
   * Reads a root session, applies the read and resolves with its place and newest message. Only looks the session up if
   * the server shows no state of sessions. Rejects with `invalid` for a sub-agent's session.
   */
  async function readAndApplyRoot(sessionID: string): Promise<PreparedPlace> {
    const place = engine.placeOf(sessionID)
    if (!info.current().canRead) return await lookUpAndApplyRoot(place)
    const snapshot = await reader.read({ ...place, reply: engine.openReply(sessionID), gap: false })
    requireRoot(sessionID, snapshot.session.parentID)
    engine.apply([snapshot])
    return {
      ...engine.placeOf(sessionID),
      newestMessageID: unrevertedMessages(snapshot).at(-1)?.head.id,
      answeredIDs: answeredMessages(snapshot).map(({ head }) => head.id),
    }
  }

  /**
   * Looks up a root session and applies its fields, for a server that shows no state of sessions. Rejects with
   * `invalid` for a sub-agent's session.
   */
  async function lookUpAndApplyRoot(place: SessionRef): Promise<SessionRef> {
    const known = await source.session(place)
    requireRoot(place.sessionID, known.parentID)
    engine.apply([{ type: 'session', sessionID: place.sessionID, at: clock.now(), ...sessionFields(known) }])
    return sessionRefOf(known)
  }

  /** Reads the session and applies the read. Reports an error and resolves with it, instead of rejecting. */
  async function refresh(place: SessionRef, since?: number): Promise<ReplyError | undefined> {
    try {
      engine.apply(await reader.readEvents({ ...place, reply: engine.openReply(place.sessionID), gap: false, since }))
      return undefined
    } catch (error) {
      const reported = toReplyError(error)
      onError(reported)
      return reported
    }
  }

  /** Resolves with the text that a person wrote in a message. Undefined if the server doesn't have it. Rejects if it can't be read. */
  async function readWrittenText(place: SessionRef, messageID: string): Promise<WrittenText | undefined> {
    const message = await source.message(place, messageID)
    return message && { text: writtenText(message.parts), isStored: message.parts.length > 0 }
  }

  /**
   * Resolves with the session and its directory, which is read over REST if it is unknown. Rejects with `gone` if the
   * session doesn't exist and has to be read.
   */
  async function find(sessionID: string): Promise<SessionRef> {
    const place = engine.placeOf(sessionID)
    return place.directory === undefined ? sessionRefOf(await source.session(place)) : place
  }
}

/** Returns only the agent and the command of an input. */
function guardTargetOf({ agent, command }: Parameters<Sessions['prepare']>[0]): GuardTarget {
  return { agent, command }
}

/** Throws `invalid` if the session has a parent, because a sub-agent's session can't be prompted. */
export function requireRoot(sessionID: string, parentID: string | undefined): void {
  if (parentID === undefined) return
  const message = `Session ${sessionID} belongs to a sub-agent. Prompt the session that started it, ${parentID}.`
  throw new ReplyError('invalid', message)
}
