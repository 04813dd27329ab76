import { ReplyError } from '../error.ts'
import type { Model, Reply } from '../reply.ts'
import type { AgentInfo, CommandInfo, ModelInfo, SessionInfo, SessionQuery, Source } from '../source/port.ts'
import type { Sessions } from './run/sessions.ts'
import type { Engine } from './store/engine.ts'
import { replyOfRead } from './sync/newest-run.ts'
import type { ServerInfo } from './sync/server-info.ts'
import type { SessionReader } from './sync/session-reader.ts'

export interface QueriesOptions {
  readonly engine: Engine
  readonly source: Source
  readonly info: ServerInfo
  readonly reader: SessionReader
  readonly sessions: Pick<Sessions, 'find'>
  /** The connection's own directory. */
  readonly directory: string | undefined
}

/** What people look up and change outside of a run. */
export interface Queries {
  /**
   * The newest run of a root session: the open reply as it is now, or the run read from the server, such as one that
   * ended while this program was down. Its times are the server's. Undefined if the session has no run. Rejects with
   * `gone` if the server doesn't know the session.
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
  /** Copies a session: all of it, or what is before a message. */
  fork(sessionID: string, messageID?: string): Promise<SessionInfo>
  /**
   * Hides a message and all that follows, and takes back the changes that were made to files since. The next prompt
   * makes it final.
   */
  revert(sessionID: string, messageID: string): Promise<void>
  /** Takes a revert back, until the next prompt. */
  unrevert(sessionID: string): Promise<void>
  /** Replaces the session's history by a summary. The model writes it; default: the one that answered last. */
  compact(sessionID: string, model?: Model): Promise<void>
}

export function createQueries(options: QueriesOptions): Queries {
  const { engine, source, info, reader } = options
  return {
    reply,
    sessions,
    models: async (directory) => await source.models(await home(directory)),
    agents: async (directory) => await required('agents')(await home(directory)),
    commands: async (directory) => await required('commands')(await home(directory)),
    fork: async (sessionID, messageID) => await required('fork')(await options.sessions.find(sessionID), messageID),
    revert: async (sessionID, messageID) => await required('revert')(await options.sessions.find(sessionID), messageID),
    unrevert: async (sessionID) => await required('unrevert')(await options.sessions.find(sessionID)),
    compact,
  }

  async function reply(sessionID: string): Promise<Reply | undefined> {
    const open = engine.openReply(sessionID)
    if (open) return open
    if (!info.current().canRead) return engine.newestReply(sessionID)
    const read = await reader.read({ ...engine.place(sessionID), gap: true })
    const { parentID } = read.session
    if (parentID !== undefined) {
      const words = `Session ${sessionID} belongs to a sub-agent; its run is part of the reply of ${parentID}.`
      throw new ReplyError('invalid', words)
    }
    // It may have begun to run in the meantime, and then its events are newer than the read.
    return engine.openReply(sessionID) ?? replyOfRead(read)
  }

  async function sessions(query: Pick<SessionQuery, 'directory' | 'since'> = {}): Promise<readonly SessionInfo[]> {
    const { since } = query
    const directory = query.directory === undefined ? undefined : await source.spelled(query.directory)
    const listed = await source.sessions({ directory, since, everywhere: directory === undefined })
    return listed
      .filter(({ parentID, updatedAt = since ?? 0 }) => parentID === undefined && updatedAt >= (since ?? 0))
      .toSorted((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0))
  }

  async function compact(sessionID: string, model?: Model): Promise<void> {
    const place = await options.sessions.find(sessionID)
    await required('compact')(place, model ?? (await lastModel(sessionID)))
  }

  async function lastModel(sessionID: string): Promise<Model> {
    const model = (await reply(sessionID))?.model
    if (model) return model
    throw new ReplyError('invalid', `Session ${sessionID} has no answer yet, so its model is unknown; name a model.`)
  }

  async function home(directory = options.directory): Promise<string | undefined> {
    return directory === undefined ? undefined : await source.spelled(directory)
  }

  function required<K extends OptionalCall>(name: K): NonNullable<Source[K]> {
    const call = source[name]
    if (call) return call
    throw new ReplyError('unsupported', `${source.name} has no "${name}": its agent or version doesn't offer it.`)
  }
}

type OptionalCall = 'agents' | 'commands' | 'fork' | 'revert' | 'unrevert' | 'compact'
