import { replyOfRead } from '../drive/connection/newest-run.ts'
import type { Drive } from '../drive/drive.ts'
import type { Sessions } from '../drive/runs/sessions.ts'
import { ReplyError, undefinedIfGone } from '../error.ts'
import type { FileChange } from '../file-change.ts'
import type { Model, Reply } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
import { changesOf, changesOfMessages, mergedChanges } from '../show/changes.ts'
import type {
  AgentInfo,
  CommandInfo,
  FileKind,
  GuardTarget,
  ModelInfo,
  SavedRule,
  SessionInfo,
  SessionQuery,
  TakesTarget,
} from '../source/port.ts'
import { maxSessionDepth } from '../track/state.ts'

/** Reads and changes outside of a run. */
export interface Queries {
  /**
   * Returns the newest run of a root session: the reply as it was received here, or else the run read from the server,
   * for example one that ended while your program was down. A reply that was read has the server's times, lacks its
   * asks and its context limit, and is `lost` if the server did not store its end. Undefined if nothing ran in the
   * session. Rejects with `gone` if the server doesn't know the session, and with `invalid` for a sub-agent's.
   */
  reply(sessionID: string): Promise<Reply | undefined>
  /**
   * Returns the files that a session changed, in the order of their first change: for each run what the server reports, or
   * else what its edits and those of its sub-agents tell. Only of the last runs if the source keeps no more. Empty if
   * nothing changed. Of the newest run received here alone if the server shows no state of sessions, see `readsSessions`, and
   * empty without one. Rejects with `gone` if the server doesn't know the session.
   */
  diff(sessionID: string): Promise<readonly FileChange[]>
  /**
   * Whether the server or agent shows the state of sessions. If it doesn't, `reply` and `diff` know only the runs that were received
   * here.
   */
  readsSessions(): Promise<boolean>
  /**
   * Lists root sessions, newest first, of one directory or of all. With `since` (ms since the epoch, server clock),
   * only those that changed at that time or later.
   */
  sessions(query?: Pick<SessionQuery, 'directory' | 'since'>): Promise<readonly SessionInfo[]>
  /** Lists the models of a directory. Default: the connection's directory. */
  models(directory?: string): Promise<readonly ModelInfo[]>
  /**
   * Lists the kinds of files that a prompt may have, for example so that you tell a person before you send a PDF that no model
   * would read. What a file is, `fileTypeOf` of `@reply/core/source` tells. Default: a new session in the connection's directory.
   * Undefined if the server doesn't tell.
   */
  takes(target?: TakesTarget): Promise<readonly FileKind[] | undefined>
  /**
   * Lists the agents of a directory. Default: the connection's directory. Rejects with `unsupported` if the server has
   * no such list.
   */
  agents(directory?: string): Promise<readonly AgentInfo[]>
  /**
   * Lists the slash commands of a directory. Default: the connection's directory. Rejects with `unsupported` if the
   * server has no such list.
   */
  commands(directory?: string): Promise<readonly CommandInfo[]>
  /**
   * Resolves if new sessions of a directory can run guarded prompts (see `PromptInput.guarded`). Rejects with
   * `unguarded` and a fix if not. Default: the connection's directory.
   */
  requireGuard(target?: Pick<GuardTarget, 'directory' | 'agent' | 'command'>): Promise<void>
  /**
   * Lists what the server allows because a person answered `always`. Rejects with `unsupported` if the server doesn't
   * list it.
   */
  savedRules(): Promise<readonly SavedRule[]>
  /** Removes a saved rule, so that the server asks again. Rejects with `gone` if no rule has this id. */
  removeRule(id: string): Promise<void>
  /** Copies a session, either whole or up to before a message. */
  fork(sessionID: string, messageID?: string): Promise<SessionInfo>
  /**
   * Hides a message and all later ones, and undoes the file changes made since then. The next prompt makes the revert
   * final.
   */
  revert(sessionID: string, messageID: string): Promise<void>
  /** Undoes a revert, until the next prompt. */
  unrevert(sessionID: string): Promise<void>
  /** Replaces the session's history with a summary that the model writes. Default: the model that answered last. */
  compact(sessionID: string, model?: Model): Promise<void>
}

/**
 * Creates the queries of a client. `directory` is the connection's own. `whenUsable` is
 * `Readiness.whenUsable`.
 */
export function createQueries(
  drive: Drive,
  runSessions: Pick<Sessions, 'find' | 'guard'>,
  directory: string | undefined,
  whenUsable: () => Promise<void>,
): Queries {
  const { engine, source, info, reader } = drive
  return {
    reply,
    diff,
    readsSessions: async () => {
      await whenUsable()
      return info.current().canRead
    },
    sessions,
    models: async (requested) => await source.models(await spelledOrDefault(requested)),
    takes: async ({ directory: requested, ...target } = {}) =>
      await source.takes?.({ ...target, directory: await spelledOrDefault(requested) }),
    agents: async (requested) =>
      (await source.agents?.(await spelledOrDefault(requested))) ?? throwUnsupported('agents'),
    commands: async (requested) =>
      (await source.commands?.(await spelledOrDefault(requested))) ?? throwUnsupported('commands'),
    requireGuard: async ({ directory: requested, ...target } = {}) => {
      await whenUsable()
      await runSessions.guard({ ...target, directory: await spelledOrDefault(requested) })
    },
    savedRules: async () => (await source.savedRules?.()) ?? throwUnsupported('savedRules'),
    removeRule: async (id) => {
      if (!source.removeRule) throwUnsupported('removeRule')
      await source.removeRule(id)
    },
    fork: async (sessionID, messageID) =>
      (await source.fork?.(await findFor('fork', sessionID), messageID)) ?? throwUnsupported('fork'),
    revert: async (sessionID, messageID) => {
      const place = await findFor('revert', sessionID)
      await source.revert?.(place, messageID)
    },
    unrevert: async (sessionID) => {
      const place = await findFor('unrevert', sessionID)
      await source.unrevert?.(place)
    },
    compact,
  }

  /**
   * Resolves with the newest run of a root session, as received here or read from the server. If both show the same
   * run, the received one. Undefined without a run, and if the server shows no state of sessions and none was received.
   * Rejects with `invalid` for a sub-agent's session, and if the server can't be read.
   */
  async function reply(sessionID: string): Promise<Reply | undefined> {
    await whenUsable()
    const known = engine.newestReply(sessionID)
    if (known && (known.phase !== 'settled' || !info.current().canRead)) return known
    if (!info.current().canRead) return undefined
    const read = await reader.read({ ...engine.placeOf(sessionID), gap: true })
    const { parentID } = read.session
    if (parentID !== undefined) {
      const message = `Session ${sessionID} belongs to a sub-agent. Its run is part of the reply of session ${parentID}.`
      throw new ReplyError('invalid', message)
    }
    // A run may have begun in the meantime. Its events are newer than the read.
    const open = engine.openReply(sessionID)
    if (open) return open
    const found = replyOfRead(read)
    // Of the same run, the received reply is the better one, because events tell more.
    return known && (!found || isSameRun(known, found)) ? known : found
  }

  /** Resolves with the changes of a session: those of its newest run if the server shows no state of sessions. */
  async function diff(sessionID: string): Promise<readonly FileChange[]> {
    await whenUsable()
    if (info.current().canRead) return await sessionChanges(source, engine.placeOf(sessionID))
    const known = engine.newestReply(sessionID)
    return known ? changesOf(known) : []
  }

  /**
   * Lists root sessions that changed at `since` or later, the newest first, of one directory or of all. One without a
   * time counts as changed, and comes last.
   */
  async function sessions(query: Pick<SessionQuery, 'directory' | 'since'> = {}): Promise<readonly SessionInfo[]> {
    const { since } = query
    const within = query.directory === undefined ? undefined : await source.spelled(query.directory)
    const listed = await source.sessions({ directory: within, since, everywhere: within === undefined })
    return listed
      .filter(({ parentID, updatedAt = since ?? 0 }) => parentID === undefined && updatedAt >= (since ?? 0))
      .toSorted((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0))
  }

  /**
   * Replaces the session's history with a summary, written by the passed model or the one that answered last. Rejects
   * with `unsupported` if the source doesn't offer it, and with `invalid` if no model is known.
   */
  async function compact(sessionID: string, model?: Model): Promise<void> {
    const place = await findFor('compact', sessionID)
    await source.compact?.(place, model ?? (await requireLastModel(sessionID)))
  }

  /** Resolves with the model of the session's newest run. Rejects with `invalid` if it is unknown. */
  async function requireLastModel(sessionID: string): Promise<Model> {
    const model = (await reply(sessionID))?.model
    if (model) return model
    throw new ReplyError('invalid', `Session ${sessionID} has no answer yet, so its model is unknown. Pass a model.`)
  }

  /** Resolves with the server's spelling of the directory, or of the connection's own. Undefined if neither is set. */
  async function spelledOrDefault(requested = directory): Promise<string | undefined> {
    return requested === undefined ? undefined : await source.spelled(requested)
  }

  /**
   * Resolves with the session and its directory. Rejects with `unsupported` if the source doesn't offer the call, and
   * with `gone` if the session doesn't exist and has to be read.
   */
  async function findFor(call: OptionalCall, sessionID: string): Promise<SessionRef> {
    if (!source[call]) throwUnsupported(call)
    return await runSessions.find(sessionID)
  }

  /** Throws `unsupported`, with the names of the source and the call. */
  function throwUnsupported(call: OptionalCall): never {
    throw new ReplyError('unsupported', `${source.name} has no "${call}": its agent or version doesn't offer it.`)
  }
}

/**
 * Resolves with what all messages of a session and of its sub-agents changed, without those that a revert hides. Reads
 * the sub-agents only if the server does not report what the session's runs changed, because that includes their files.
 */
async function sessionChanges(
  source: Drive['source'],
  place: SessionRef,
  depth = 1,
  reading = source.startReading(),
): Promise<readonly FileChange[]> {
  const { info, messages, children } = await reading.session(place, { since: 0, messageIDs: [] })
  const directory = info.directory ?? place.directory
  const hiddenFrom = messages.findIndex(({ head }) => head.id === info.revertedTo)
  const own = changesOfMessages(hiddenFrom === -1 ? messages : messages.slice(0, hiddenFrom), directory)
  if (depth >= maxSessionDepth || messages.some(({ head }) => (head.changes ?? []).length > 0)) return own
  const all = [...own]
  for (const { sessionID, directory: ofChild = directory } of children) {
    const changes = await sessionChanges(source, { sessionID, directory: ofChild }, depth + 1, reading).catch(
      undefinedIfGone,
    )
    all.push(...(changes ?? []))
  }
  return mergedChanges(all, directory)
}

type OptionalCall = 'agents' | 'commands' | 'savedRules' | 'removeRule' | 'fork' | 'revert' | 'unrevert' | 'compact'

/** Whether the received reply includes the prompt that began the run that was read. False if that has no prompt. */
function isSameRun(known: Reply, read: Reply): boolean {
  return read.promptIDs[0] !== undefined && known.promptIDs.includes(read.promptIDs[0])
}
