import { ReplyError } from '../error.ts'
import type { Model, Reply } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
import type {
  AgentInfo,
  CommandInfo,
  GuardTarget,
  ModelInfo,
  SavedRule,
  SessionInfo,
  SessionQuery,
} from '../source/port.ts'
import { replyOfRead } from './connection/newest-run.ts'
import type { Drive } from './drive.ts'
import type { Sessions } from './runs/sessions.ts'

/** What people look up and change outside of a run. */
export interface Queries {
  /**
   * The newest run of a root session: the reply as it was received here, or the run read from the server, such as one
   * that ended while this program was down. A run that was read has the server's times, lacks its asks and its context
   * limit, and an end that the server did not store is `lost`. Undefined if nothing ran in the session. Rejects with
   * `gone` if the server doesn't know it.
   */
  reply(sessionID: string): Promise<Reply | undefined>
  /**
   * The server's root sessions, newest first: of one directory, or of all. With `since` (ms since the epoch, server
   * clock) those that changed at that time or later.
   */
  sessions(query?: Pick<SessionQuery, 'directory' | 'since'>): Promise<readonly SessionInfo[]>
  /** The models that can be used in a directory. Default: the connection's. */
  models(directory?: string): Promise<readonly ModelInfo[]>
  /** The agents of a directory. Default: the connection's. */
  agents(directory?: string): Promise<readonly AgentInfo[]>
  /** The slash commands of a directory. Default: the connection's. */
  commands(directory?: string): Promise<readonly CommandInfo[]>
  /**
   * Resolves if guarded prompts (see `PromptInput.guarded`) can run in new sessions of a directory, by default the
   * connection's. Rejects with `unguarded`, and the cure.
   */
  requireGuard(target?: Pick<GuardTarget, 'directory' | 'agent' | 'command'>): Promise<void>
  /** What the server allows because a person answered `always`. Rejects with `unsupported` if it does not say. */
  savedRules(): Promise<readonly SavedRule[]>
  /** Has the server ask again for what a saved rule allowed. Rejects with `gone` if there is none of that id. */
  removeRule(id: string): Promise<void>
  /** Copies a session: all of it, or what is before a message. */
  fork(sessionID: string, messageID?: string): Promise<SessionInfo>
  /**
   * Hides a message and all that follows, and takes back the changes that were made to files since. The next prompt
   * makes it final.
   */
  revert(sessionID: string, messageID: string): Promise<void>
  /** Undoes a revert, until the next prompt. */
  unrevert(sessionID: string): Promise<void>
  /** Replaces the session's history by a summary. The model writes it; default: the one that answered last. */
  compact(sessionID: string, model?: Model): Promise<void>
}

/** `directory` is the connection's own; `whenLive` resolves when the connection is up, and rejects if that takes too long. */
export function createQueries(
  drive: Drive,
  places: Pick<Sessions, 'find' | 'guard'>,
  directory: string | undefined,
  whenLive: () => Promise<void>,
): Queries {
  const { engine, source, info, reader } = drive
  return {
    reply,
    sessions,
    models: async (given) => await source.models(await home(given)),
    agents: async (given) => (await source.agents?.(await home(given))) ?? lacks('agents'),
    commands: async (given) => (await source.commands?.(await home(given))) ?? lacks('commands'),
    requireGuard: async ({ directory: given, ...what } = {}) => {
      await whenLive()
      await places.guard({ ...what, directory: await home(given) })
    },
    savedRules: async () => (await source.savedRules?.()) ?? lacks('savedRules'),
    removeRule: async (id) => {
      if (!source.removeRule) lacks('removeRule')
      await source.removeRule(id)
    },
    fork: async (sessionID, messageID) =>
      (await source.fork?.(await find('fork', sessionID), messageID)) ?? lacks('fork'),
    revert: async (sessionID, messageID) => {
      const place = await find('revert', sessionID)
      await source.revert?.(place, messageID)
    },
    unrevert: async (sessionID) => {
      const place = await find('unrevert', sessionID)
      await source.unrevert?.(place)
    },
    compact,
  }

  async function reply(sessionID: string): Promise<Reply | undefined> {
    await whenLive()
    const known = engine.newestReply(sessionID)
    if (known && (known.phase !== 'settled' || !info.current().canRead)) return known
    if (!info.current().canRead) return undefined
    const read = await reader.read({ ...engine.place(sessionID), gap: true })
    const { parentID } = read.session
    if (parentID !== undefined) {
      const words = `Session ${sessionID} belongs to a sub-agent; its run is part of the reply of ${parentID}.`
      throw new ReplyError('invalid', words)
    }
    // It may have begun to run in the meantime, and then its events are newer than the read.
    const open = engine.openReply(sessionID)
    if (open) return open
    const found = replyOfRead(read)
    return known && (!found || isSameRun(known, found)) ? known : found
  }

  async function sessions(query: Pick<SessionQuery, 'directory' | 'since'> = {}): Promise<readonly SessionInfo[]> {
    const { since } = query
    const within = query.directory === undefined ? undefined : await source.spelled(query.directory)
    const listed = await source.sessions({ directory: within, since, everywhere: within === undefined })
    return listed
      .filter(({ parentID, updatedAt = since ?? 0 }) => parentID === undefined && updatedAt >= (since ?? 0))
      .toSorted((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0))
  }

  async function compact(sessionID: string, model?: Model): Promise<void> {
    const place = await find('compact', sessionID)
    await source.compact?.(place, model ?? (await lastModel(sessionID)))
  }

  async function lastModel(sessionID: string): Promise<Model> {
    const model = (await reply(sessionID))?.model
    if (model) return model
    throw new ReplyError('invalid', `Session ${sessionID} has no answer yet, so its model is unknown; name a model.`)
  }

  async function home(given = directory): Promise<string | undefined> {
    return given === undefined ? undefined : await source.spelled(given)
  }

  /** Finds the session if the source offers the call. */
  async function find(call: OptionalCall, sessionID: string): Promise<SessionRef> {
    if (!source[call]) lacks(call)
    return await places.find(sessionID)
  }

  function lacks(call: OptionalCall): never {
    throw new ReplyError('unsupported', `${source.name} has no "${call}": its agent or version doesn't offer it.`)
  }
}

type OptionalCall = 'agents' | 'commands' | 'savedRules' | 'removeRule' | 'fork' | 'revert' | 'unrevert' | 'compact'

/** A run whose first prompt was received here is known better than what can be read of it. */
function isSameRun(known: Reply, read: Reply): boolean {
  return read.promptIDs[0] !== undefined && known.promptIDs.includes(read.promptIDs[0])
}
