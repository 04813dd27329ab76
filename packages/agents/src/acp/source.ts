import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type McpServer, RequestError } from '@agentclientprotocol/sdk'
import { ReplyError } from '@reply/core'
import {
  type CreateInput,
  createLocalAgent,
  type LocalRun,
  type SessionInfo,
  type Source,
  type SourcePrompt,
} from '@reply/core/source'
import { createAsks } from './asks.ts'
import { type AgentConnection, type RunningAgent, startAgent, toReplyError } from './connection.ts'
import { type AcpAgent, readPromptEnd, readSessionID } from './decode/message.ts'
import { type AcpOptions, type AcpSettings, toSettings } from './options.ts'
import { blocksOf, endingOf, failureOf } from './prompt.ts'
import { type AcpConfigOption, type AcpSession, agentsIn, commandsIn, modelsIn } from './session.ts'
import { createSessionStore } from './session-store.ts'
import { createTerminals, type Terminals } from './terminals.ts'
import { startTransport, type Transport } from './transport.ts'

/** A new session, with MCP servers of its own besides those of the options. */
export interface AcpCreateInput extends CreateInput {
  /** In the protocol's shape. They are gone after the agent was started again. Default: none. */
  readonly mcpServers?: readonly McpServer[] | undefined
}

/** An agent that speaks the Agent Client Protocol, as a source. */
export interface AcpSource extends Source {
  /** Creates a session. Rejects with `unreachable` while the agent isn't running. */
  create(input: AcpCreateInput): Promise<SessionInfo>
  /** Modes, commands and settings of a session. Undefined if the agent told nothing of it. */
  details(sessionID: string): AcpSession | undefined
  /** Name, version and abilities of the agent. Undefined until it has started, and after it died. */
  agentInfo(): AcpAgent | undefined
}

/**
 * An agent that speaks the Agent Client Protocol as a source, for `connectSource`. The agent starts with the first
 * connection, and again after it died. Throws `invalid` for invalid options.
 */
export function acpSource(options: AcpOptions): AcpSource {
  const settings = toSettings(options)
  return createAcpSource(settings, () => startTransport(settings))
}

/** What an agent's preset sees of its runs. */
export interface RunHooks {
  /**
   * A prompt is about to be sent. `link` names the session that a call started, and
   * returns whether that call is known yet. Returns what to do before the run ends.
   */
  begun(run: LocalRun, link: (callID: string, sessionID: string) => boolean): () => Promise<void>
}

/** `open` starts the agent: a process, or another one in tests. */
export function createAcpSource(settings: AcpSettings, open: () => Promise<Transport>, hooks?: RunHooks): AcpSource {
  const { name, cwd, clock, deadlineMs } = settings
  const mcpServers = settings.mcpServers ?? []
  const sessions = createSessionStore((terminalID) => terminals?.textOf(terminalID))
  /** Sessions whose conversation is being repeated. */
  const loading = new Set<string>()
  const canceled = new WeakSet<LocalRun>()
  let running: RunningAgent | undefined
  /** Of the agent that was started last, also before it answers. */
  let transport: Transport | undefined
  /** Of the agent that was started last. */
  let terminals: Terminals | undefined
  let isClosed = false
  const local = createLocalAgent({
    name,
    redact: settings.redact,
    clock,
    start,
    create: async ({ directory = cwd, title, mcpServers: own = [], ...wanted }: AcpCreateInput) => {
      const { connection, opened } = live()
      const response = await connection.call('session/new', { cwd: directory, mcpServers: [...mcpServers, ...own] })
      const sessionID = readSessionID(response)
      if (sessionID === undefined)
        throw new ReplyError('malformed', `${name} made a session without an id: it can't be prompted.`)
      opened.add(sessionID)
      sessions.open(sessionID, response)
      await configure(connection, sessionID, wanted)
      return { sessionID, directory, title }
    },
    find: async (place) => await load(place.sessionID, place.directory ?? cwd),
    prompt,
    cancel: async (run) => {
      canceled.add(run)
      // The protocol wants pending requests answered first; their answers are on their way.
      await new Promise((sent) => setImmediate(sent))
      // Before its commands end, or it would go on with what they wrote.
      await live().connection.notify('session/cancel', { sessionId: run.sessionID })
      terminals?.endRun(run)
    },
    // All its sessions end with it; it is started again for the next prompt.
    kill: () => void running?.connection.close(),
    spelled: async (directory) => await realpath(directory).catch(() => resolve(directory)),
    models: async (directory) => modelsIn(inFolder(directory), name),
    commands: async (directory) => commandsIn(inFolder(directory)),
    agents: async (directory) => agentsIn(inFolder(directory)),
    close: () => {
      isClosed = true
      terminals?.close()
      void (running?.connection ?? transport)?.close()
    },
  })
  const inFolder = (directory: string | undefined): readonly AcpSession[] =>
    sessions.all().filter(({ sessionID: id }) => [undefined, local.session(id)?.directory].includes(directory))
  return { ...local.source, details: sessions.details, agentInfo: () => running?.agent }

  async function start(): Promise<void> {
    const { files, env } = settings
    const { run: runOf } = local
    const folderOf = (sessionID: string): string | undefined => local.session(sessionID)?.directory
    const own = settings.terminals ? createTerminals({ env, clock, runOf, folderOf, onChange: printed }) : undefined
    terminals = own
    const { permission, elicitation } = createAsks(sessions, runOf)
    const begun = await startAgent(await openTransport(), settings, {
      permission,
      elicitation,
      update,
      files,
      folderOf,
      terminals: own,
    })
    if (isClosed) return await begun.connection.close()
    running = begun
    void begun.connection.ended.then((how) => {
      if (running === begun) running = undefined
      own?.close()
      local.fail(new ReplyError('unreachable', `${name} ${how}. It is started again for the next prompt.`))
    })
  }

  async function openTransport(): Promise<Transport> {
    transport = await open()
    // Closed while it started.
    if (isClosed) void transport.close()
    return transport
  }

  function live(): RunningAgent {
    if (running) return running
    throw new ReplyError('unreachable', `${name} is not running. Wait until it was started again.`)
  }

  /** Opens a session of an earlier process. Its updates repeat the conversation, which is not news. */
  async function load(sessionID: string, directory: string): Promise<SessionInfo | undefined> {
    const { connection, agent, opened } = live()
    if (!agent.loadsSessions) return undefined
    loading.add(sessionID)
    try {
      const params = { sessionId: sessionID, cwd: directory, mcpServers }
      sessions.open(sessionID, await connection.request('session/load', params, deadlineMs))
    } catch (error) {
      if (error instanceof RequestError && error.code !== -32_000) return undefined
      throw toReplyError(error, `Loading session ${sessionID} of ${name}`)
    } finally {
      loading.delete(sessionID)
    }
    opened.add(sessionID)
    return { sessionID, directory }
  }

  /**
   * Sets what a prompt wants before it is sent: the agent as the session's mode, the model and its variant as settings.
   * Throws `unsupported` if the agent doesn't offer it.
   */
  async function configure(
    { call }: AgentConnection,
    sessionID: string,
    { agent, model, variant }: Pick<SourcePrompt, 'agent' | 'model' | 'variant'>,
  ): Promise<void> {
    if (agent !== undefined) await setMode(agent)
    if (model !== undefined) await setOption('model', [`${model.providerID}/${model.modelID}`, model.modelID])
    if (variant !== undefined) await setOption('thought_level', [variant])

    async function setMode(mode: string): Promise<void> {
      const details = sessions.details(sessionID)
      if (!details?.modes.some(({ id }) => id === mode)) return await setOption('mode', [mode])
      if (details.modeID === mode) return
      await call('session/set_mode', { sessionId: sessionID, modeId: mode })
      sessions.change(sessionID, { modeID: mode })
    }

    async function setOption(category: string, values: readonly string[]): Promise<void> {
      const config = sessions.details(sessionID)?.config ?? []
      const option = config.find((one) => one.category === category)
      const value = values.find((one) => option?.choices.some((choice) => choice.value === one))
      if (!option || value === undefined) throw notOffered(name, category, values[0] ?? '', option)
      if (option.value === value) return
      await call('session/set_config_option', { sessionId: sessionID, configId: option.id, value })
      const changed = config.map((one): AcpConfigOption => (one === option ? { ...one, value } : one))
      sessions.change(sessionID, { config: changed })
    }
  }

  async function prompt(run: LocalRun, given: SourcePrompt): Promise<void> {
    const { sessionID } = run
    const { connection, agent, opened } = live()
    const blocks = blocksOf(given, agent, name)
    if (!opened.has(sessionID) && !(await load(sessionID, run.directory ?? cwd)))
      throw new ReplyError('gone', `${name} lost session ${sessionID} when it ended; start a new one.`)
    await configure(connection, sessionID, given)
    // While its session was loaded or set up.
    if (canceled.has(run)) return run.end({ type: 'aborted' })
    sessions.beginRun(sessionID)
    const beforeEnd = hooks?.begun(run, (callID, childID) => {
      const output = sessions.link(sessionID, callID, childID)
      if (output) run.write(output)
      return output !== undefined
    })
    connection
      .request('session/prompt', { sessionId: sessionID, prompt: blocks })
      .finally(() => beforeEnd?.())
      .then(
        (response) => finish(run, response),
        // How the agent ended is reported when the connection breaks.
        (error: unknown) => {
          if (error instanceof RequestError) run.end({ type: 'failed', error: failureOf(error) })
        },
      )
  }

  function finish(run: LocalRun, response: unknown): void {
    const end = readPromptEnd(response, sessions.costOf(run.sessionID))
    if (!end) {
      const message = `${name} ended the prompt with something else than a stop reason.`
      return run.end({ type: 'failed', error: { name: 'malformed', message, raw: response } })
    }
    run.write(...end.usage)
    run.end(endingOf(end.stopReason))
  }

  function update(params: unknown): void {
    const updated = sessions.update(params)
    if (!updated) {
      settings.onError?.(new ReplyError('malformed', `${name} sent a malformed session update; it was left out.`))
      return
    }
    const { sessionID, told } = updated
    if (told.title !== undefined && local.session(sessionID)) local.update({ sessionID, title: told.title })
    if (told.notice) settings.onNotice?.(sessionID, told.notice)
    if (told.outputs && !loading.has(sessionID)) local.run(sessionID)?.write(...told.outputs)
  }

  function printed(sessionID: string, terminalID: string): void {
    local.run(sessionID)?.write(...sessions.printed(sessionID, terminalID))
  }
}

function notOffered(name: string, category: string, value: string, option: AcpConfigOption | undefined): ReplyError {
  const choices = option?.choices.map((choice) => choice.value).join(', ') ?? ''
  const cure = choices === '' ? 'Leave it out' : `Choose one of ${choices}`
  return new ReplyError('unsupported', `${name} has no ${category.replace('_', ' ')} "${value}". ${cure}.`)
}
