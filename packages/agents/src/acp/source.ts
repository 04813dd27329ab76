import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type McpServer, RequestError } from '@agentclientprotocol/sdk'
import { ReplyError } from '@reply/core'
import {
  type CreateInput,
  createLocalAgent,
  type LocalEnding,
  type LocalHistory,
  type LocalOutput,
  type LocalRun,
  type SessionInfo,
  type SessionRef,
  type Source,
  type SourcePrompt,
} from '@reply/core/source'
import { createAsks } from './asks.ts'
import { type AgentConnection, type RunningAgent, startAgent, toReplyError } from './connection.ts'
import { endingOf, failureOf } from './decode/ending.ts'
import { type AcpAgent, readSessionID, readSteering } from './decode/message.ts'
import type { AcpConfigOption, AcpSession } from './decode/session.ts'
import { readPromptEnd } from './decode/v1/prompt-end.ts'
import { decodeNotification } from './decode/v1/update.ts'
import { readMessageID, readUserMessageID } from './decode/v2/user-message.ts'
import { dialects } from './dialect.ts'
import { createHistoryReader } from './history.ts'
import { type AcpOptions, type AcpSettings, toSettings } from './options.ts'
import { createPastRuns, type PastRuns } from './past-runs.ts'
import { blocksOf, takesIn } from './prompt.ts'
import { createPromptTurns, type PromptTurn, type PromptTurns } from './prompt-turns.ts'
import { agentsIn, commandsIn, modelsIn } from './session.ts'
import { listSessions } from './session-list.ts'
import { createSessionStore } from './session-store.ts'
import { createSubagents } from './subagents.ts'
import { createTerminals, type Terminals } from './terminals.ts'
import { startTransport, type Transport } from './transport.ts'
import { createTurns, type Turns } from './turns.ts'
import { createWakes, longestSilenceMs } from './wakes.ts'

/** A new session, with MCP servers besides those of the options. */
export interface AcpCreateInput extends CreateInput {
  /** In the protocol's shape. Lost when the agent restarts. Default: none. */
  readonly mcpServers?: readonly McpServer[] | undefined
}

/** An agent that speaks the Agent Client Protocol, as a source. */
export interface AcpSource extends Source {
  /**
   * Creates a session. Rejects with `unreachable` while the agent isn't running, with `malformed` if it returns no id, and
   * with `unsupported` for an agent, model or variant that it doesn't offer.
   */
  create(input: AcpCreateInput): Promise<SessionInfo>
  /** Modes, commands and settings of a session. Undefined for a session that the agent didn't report. */
  details(sessionID: string): AcpSession | undefined
  /** Name, version and abilities of the agent. Undefined before it has started and after it exited. */
  agentInfo(): AcpAgent | undefined
}

/**
 * An agent that speaks the Agent Client Protocol as a source, for `connectSource`. The agent starts with the first
 * connection, and restarts after it exited. Throws `invalid` for invalid options.
 */
export function acpSource(options: AcpOptions): AcpSource {
  const settings = toSettings(options)
  return createAcpSource(settings, () => startTransport(settings))
}

/** Lets an agent's preset follow the runs. */
export interface RunHooks {
  /**
   * Called before a prompt is sent. `link` names the session that a call started, and returns whether that call is
   * known yet. The returned function is called before the run ends.
   */
  runStarting(run: LocalRun, link: (callID: string, sessionID: string) => boolean): () => Promise<void>
}

/**
 * Creates the source for an agent of the Agent Client Protocol, in version 1 or 2. `open` starts the agent, with the
 * first connection and each time after the agent ended. `hooks` follow the runs of version 1.
 */
export function createAcpSource(settings: AcpSettings, open: () => Promise<Transport>, hooks?: RunHooks): AcpSource {
  const { name, cwd, clock, deadlineMs } = settings
  const mcpServers = settings.mcpServers ?? []
  const sessions = createSessionStore(
    () => running?.dialect ?? dialects[1],
    (terminalID) => terminals?.textOf(terminalID),
  )
  /** Sessions that are being loaded, with the updates that repeat their history. */
  const loading = new Map<string, unknown[]>()
  /** The sub-agents that these updates have announced, with the session that is being loaded. */
  const loadingChildren = new Map<string, string>()
  /** What sessions of earlier processes held when they were loaded. */
  const histories = new Map<string, readonly unknown[]>()
  /** The sessions of version 2 that are being read. */
  const pastRuns = new Map<string, PastRuns>()
  const canceled = new WeakSet<LocalRun>()
  /** The unknown kinds of updates that were reported. */
  const unknownKinds = new Set<string>()
  /** Cancels that are being sent, by session. */
  const cancels = new Map<string, Promise<void>>()
  /** Sessions without a name here, whose output was reported. */
  const unknownSessions = new Set<string>()
  let running: RunningAgent | undefined
  /** The transport of the newest agent, also before it answers. */
  let transport: Transport | undefined
  /** The terminals of the newest agent. */
  let terminals: Terminals | undefined
  let isClosed = false
  /** Whether the newest agent repeats what its sessions held. Also after it has ended. */
  let canRead = false
  /** The prompts of the newest agent, if it speaks version 2. */
  let turns: Turns = newTurns()
  /** The prompts of the newest agent, if it speaks version 1. */
  let promptTurns: PromptTurns = newPromptTurns()
  const local = createLocalAgent({
    name,
    redact: settings.redact,
    clock,
    start,
    create: async ({ directory = cwd, title, mcpServers: own = [], ...wanted }: AcpCreateInput) => {
      const { connection, opened, dialect } = requireAgent()
      const servers = dialect.serversOf([...mcpServers, ...own])
      const response = await connection.call('session/new', { cwd: directory, mcpServers: servers })
      const sessionID = readSessionID(response)
      if (sessionID === undefined)
        throw new ReplyError(
          'malformed',
          `${name} created a session without an id, so it can't be prompted. Update the agent.`,
        )
      opened.add(sessionID)
      sessions.open(sessionID, response)
      await configure(connection, sessionID, wanted)
      return { sessionID, directory, title }
    },
    find: async ({ sessionID, directory = cwd }) => {
      const found = await load(sessionID, directory)
      if (found) histories.set(sessionID, found)
      return found && { sessionID, directory }
    },
    read: async (place, history) => {
      if (requireAgent().dialect.version === 2) return await read(place, history)
      const { sessionID, directory = cwd } = place
      // A copy was not loaded yet.
      const repeated = histories.get(sessionID) ?? (await load(sessionID, directory))
      readHistory(sessionID, repeated ?? [], history, running?.agent.name)
      histories.delete(sessionID)
    },
    sessions: async ({ directory, everywhere, since }) =>
      await listSessions(
        requireAgent(),
        everywhere === true ? undefined : (directory ?? (await spelled(cwd))),
        since,
        spelled,
      ),
    fork: async (place, messageID) => {
      if (messageID !== undefined)
        throw new ReplyError('unsupported', `${name} can only copy a whole session. Leave the message out.`)
      return await fork(place.sessionID, local.session(place.sessionID)?.directory ?? cwd)
    },
    capabilities: () => ({
      canRead,
      takesPromptsWhileBusy: running?.agent.steers === true,
      queuesPrompts: running?.agent.queuesPrompts === true,
    }),
    prompt,
    cancel: async (run, aborted) => {
      canceled.add(run)
      // A sub-agent below the aborted session is canceled with it.
      const sending = cancels.get(aborted.sessionID) ?? sendCancel(aborted.sessionID)
      cancels.set(aborted.sessionID, sending)
      // Before its commands end. Otherwise the agent would continue with their output.
      await sending.finally(() => cancels.delete(aborted.sessionID))
      terminals?.endRun(run)
      wakes.abort(run)
    },
    // All its sessions end with it. It restarts for the next prompt.
    kill: () => void running?.connection.close(),
    spelled,
    models: async (directory) => modelsIn(inFolder(directory), name),
    takes: async () => takesIn(requireAgent().agent),
    commands: async (directory) => commandsIn(inFolder(directory)),
    agents: async (directory) => agentsIn(inFolder(directory)),
    close: () => {
      isClosed = true
      terminals?.close()
      wakes.close()
      turns.close()
      void (running?.connection ?? transport)?.close()
    },
  })
  const wakes = createWakes(
    wake,
    (run, isLost) => {
      endRun(run, canceled.has(run) ? { type: 'aborted' } : isLost ? silenceEnding() : { type: 'completed' })
      // A prompt that was queued behind it.
      if (promptTurns.first(run.sessionID)) sessions.beginRun(run.sessionID)
    },
    async (sessionID) => {
      const { asks } = await local.source.asks(undefined)
      return sessions.isCalling(sessionID) || asks.some((ask) => ask.sessionID === sessionID)
    },
    settings,
  )
  const subagents = createSubagents(runOf, isRoot, sessions)
  const readHistory = createHistoryReader(() => requireAgent().dialect, local.run)
  const inFolder = (directory: string | undefined): readonly AcpSession[] =>
    sessions.all().filter(({ sessionID: id }) => [undefined, local.session(id)?.directory].includes(directory))
  return { ...local.source, details: sessions.details, agentInfo: () => running?.agent }

  /** Creates the work of the sessions of one process of the agent, for version 2. */
  function newTurns(): Turns {
    return createTurns(wake, sessions.beginRun, endRun, handOver, applyUpdate, clock)
  }

  /** Creates the prompts of one process of the agent, for version 1. */
  function newPromptTurns(): PromptTurns {
    return createPromptTurns(sessions.beginRun, (sessionID) => wakes.runOf(sessionID) !== undefined, endRun, handOver)
  }

  /** Returns the session's current run, or begins one without a prompt. */
  function wake(sessionID: string, reason = `${name} goes on by itself.`): LocalRun {
    return local.wake({ sessionID, directory: local.session(sessionID)?.directory }, reason)
  }

  /** Returns the failure of a run that the agent began by itself, and whose end it never told. */
  function silenceEnding(): LocalEnding {
    const minutes = longestSilenceMs / 60_000
    const message = `${name} went on by itself, but was silent for ${minutes} minutes without an end. Ask it what it did.`
    return { type: 'failed', error: { name: 'silent', message, raw: undefined } }
  }

  /** Whether it is a known root session. */
  function isRoot(sessionID: string): boolean {
    const session = local.session(sessionID)
    return session !== undefined && session.parentID === undefined
  }

  /**
   * Whether nothing runs in a root session that isn't being loaded, so that output means that the agent goes on by itself.
   * False for an unknown session.
   */
  function isIdle(sessionID: string): boolean {
    return isRoot(sessionID) && !local.run(sessionID) && !loading.has(sessionID)
  }

  /**
   * Returns the run that a session asks in and starts sub-agents in. Begins one if the agent goes on by itself. Undefined for
   * an unknown session, and in version 2 while the session does no work.
   */
  function runOf(sessionID: string): LocalRun | undefined {
    subagents.begin(sessionID)
    const session = local.session(sessionID)
    if (running?.dialect.version === 2 && session?.parentID === undefined && !pastRuns.has(sessionID)) {
      turns.claim(sessionID)
      return turns.runOf(sessionID)
    }
    if (isIdle(sessionID)) {
      sessions.beginRun(sessionID)
      wakes.begin(sessionID)
    }
    return writtenRun(sessionID)
  }

  /** Returns the run that the output of a session of version 1 goes to. Undefined if nothing runs there. */
  function writtenRun(sessionID: string): LocalRun | undefined {
    return wakes.runOf(sessionID) ?? promptTurns.first(sessionID)?.run ?? local.run(sessionID)
  }

  /**
   * Starts the agent and makes it the running one. When it ends, all runs fail, and the next call starts it again. Rejects as
   * `startAgent` does. If the source was closed meanwhile, only closes the agent.
   */
  async function start(): Promise<void> {
    const ownTurns = newTurns()
    turns = ownTurns
    promptTurns = newPromptTurns()
    const { files, env } = settings
    const folderOf = (sessionID: string): string | undefined => local.session(sessionID)?.directory
    const newTerminals = settings.terminals
      ? createTerminals({ env, clock, runOf: writtenRun, folderOf, onChange: showTerminal })
      : undefined
    terminals = newTerminals
    const { permission, elicitation } = createAsks(sessions, runOf, (sessionID) => turns.decided(rootOf(sessionID)))
    const runStarting = await startAgent(await openTransport(), settings, {
      permission,
      elicitation,
      update,
      turn: ({ sessionID, type }) => {
        wakes.expectEnds()
        if (type === 'ended') wakes.end(sessionID)
        else if (isIdle(sessionID)) runOf(sessionID)
      },
      files,
      folderOf,
      terminals: newTerminals,
    })
    if (isClosed) return await runStarting.connection.close()
    running = runStarting
    canRead = runStarting.agent.loadsSessions
    void runStarting.connection.ended.then((how) => {
      if (running === runStarting) running = undefined
      newTerminals?.close()
      wakes.close()
      ownTurns.close()
      local.fail(new ReplyError('unreachable', `${name} ${how}. It restarts for the next prompt.`))
    })
  }

  /** Starts the agent's process. Closes it at once if the source was closed meanwhile. */
  async function openTransport(): Promise<Transport> {
    transport = await open()
    // The source was closed during the start.
    if (isClosed) void transport.close()
    return transport
  }

  /** Sends a cancel. The protocol requires that pending requests are answered first, and their answers are being sent. */
  async function sendCancel(sessionID: string): Promise<void> {
    await new Promise((sent) => setImmediate(sent))
    await requireAgent().connection.notify('session/cancel', { sessionId: sessionID })
  }

  /** Returns the running agent. Throws `unreachable` if there is none. */
  function requireAgent(): RunningAgent {
    if (running) return running
    throw new ReplyError('unreachable', `${name} is not running. Wait until it has restarted.`)
  }

  /**
   * Opens a session of an earlier process in version 1, and returns the updates that repeat its history. Undefined if the
   * agent can't load sessions, or refuses to load this one. Rejects with `unauthorized` if the agent wants a login, and with
   * `unreachable` if it doesn't answer.
   */
  async function load(sessionID: string, directory: string): Promise<readonly unknown[] | undefined> {
    const { connection, agent, opened, dialect } = requireAgent()
    if (!agent.loadsSessions) return undefined
    const repeated: unknown[] = []
    loading.set(sessionID, repeated)
    try {
      const params = { sessionId: sessionID, cwd: directory, mcpServers: dialect.serversOf(mcpServers) }
      sessions.open(sessionID, await connection.request(dialect.methods.open, params, deadlineMs))
    } catch (error) {
      if (error instanceof RequestError && error.code !== -32_000) return undefined
      throw toReplyError(error, `Loading session ${sessionID} of ${name}`)
    } finally {
      loading.delete(sessionID)
      for (const [childID, loadingID] of loadingChildren) if (loadingID === sessionID) loadingChildren.delete(childID)
    }
    opened.add(sessionID)
    return repeated
  }

  /**
   * Reads what a session of an earlier process holds in version 2. The agent repeats it as updates before it answers. If it
   * still works, its last run goes on, else the sub-agents that have not ended are aborted.
   */
  async function read({ sessionID, directory = cwd }: SessionRef, history: LocalHistory): Promise<void> {
    const { agent, connection, dialect, opened } = requireAgent()
    const replay = createPastRuns(agent.name, history, () => sessions.beginRun(sessionID), endRun)
    pastRuns.set(sessionID, replay)
    try {
      const params = { sessionId: sessionID, cwd: directory, mcpServers: dialect.serversOf(mcpServers) }
      const all = { ...params, ...dialect.replaying }
      sessions.open(sessionID, await connection.call(dialect.methods.open, all))
      opened.add(sessionID)
    } finally {
      pastRuns.delete(sessionID)
    }
    const run = replay.finish()
    if (run) turns.resume(run)
    else subagents.abortBelow(sessionID)
  }

  /**
   * Copies a session and returns the copy. Rejects with `unsupported` if the agent can't, and with `malformed` if it returns
   * no id.
   */
  async function fork(sessionID: string, directory: string): Promise<SessionInfo> {
    const { agent, connection, dialect, opened } = requireAgent()
    if (!agent.forksSessions) throw new ReplyError('unsupported', `${name} can't copy sessions. Start a new one.`)
    const params = { sessionId: sessionID, cwd: directory, mcpServers: dialect.serversOf(mcpServers) }
    const response = await connection.call('session/fork', params)
    const copyID = readSessionID(response)
    if (copyID === undefined)
      throw new ReplyError('malformed', `${name} copied a session without an id. Update the agent.`)
    opened.add(copyID)
    sessions.open(copyID, response)
    return { sessionID: copyID, directory }
  }

  /**
   * Applies a prompt's settings before it is sent: the agent as the session's mode, the model and its variant as settings. A
   * model may be named with its provider or without. Throws `unsupported` if the agent doesn't offer one of them.
   */
  async function configure(
    { call }: AgentConnection,
    sessionID: string,
    { agent, model, variant }: Pick<SourcePrompt, 'agent' | 'model' | 'variant'>,
  ): Promise<void> {
    if (agent !== undefined) await setMode(agent)
    if (model !== undefined) await setOption('model', [`${model.providerID}/${model.modelID}`, model.modelID])
    if (variant !== undefined) await setOption('thought_level', [variant])

    /**
     * Sets the session's mode, or the setting of the category `mode` if the session has no such mode. Does nothing if it is
     * set.
     */
    async function setMode(mode: string): Promise<void> {
      const details = sessions.details(sessionID)
      if (!details?.modes.some(({ id }) => id === mode)) return await setOption('mode', [mode])
      if (details.modeID === mode) return
      await call('session/set_mode', { sessionId: sessionID, modeId: mode })
      sessions.change(sessionID, { modeID: mode })
    }

    /**
     * Sets the setting of a category to the first of these values that it offers, with the agent and in the session. Does
     * nothing if it is set. Throws `unsupported` if it offers none, or if there is no such setting.
     */
    async function setOption(category: string, values: readonly string[]): Promise<void> {
      const config = sessions.details(sessionID)?.config ?? []
      const option = config.find((one) => one.category === category)
      const value = values.find((one) => option?.choices.some((choice) => choice.value === one))
      if (!option || value === undefined) throw notOffered(name, category, values[0] ?? '', option)
      if (option.value === value) return
      const setting = requireAgent().dialect.settingOf(value)
      await call('session/set_config_option', { sessionId: sessionID, configId: option.id, ...setting })
      const changed = config.map((one): AcpConfigOption => (one === option ? { ...one, value } : one))
      sessions.change(sessionID, { config: changed })
    }
  }

  /**
   * Sends a prompt, into the running turn if the agent takes it. Otherwise it comes after what the agent does by itself,
   * unless it is to be queued. Resolves when the agent has it, or will have it after the turn before. Rejects with `gone` if
   * the agent has lost the session, and as `blocksOf`, `configure` and `steer` do. A run that was canceled meanwhile ends as
   * aborted.
   */
  async function prompt(run: LocalRun, given: SourcePrompt): Promise<void> {
    const { sessionID } = run
    const { connection, agent, opened, dialect } = requireAgent()
    const blocks = await blocksOf(given, agent, name)
    if (!opened.has(sessionID) && !(await load(sessionID, run.directory ?? cwd)))
      throw new ReplyError('gone', `${name} lost session ${sessionID} when it ended. Start a new session.`)
    await configure(connection, sessionID, given)
    const request = { sessionId: sessionID, prompt: blocks }
    if (given.delivery !== 'queue' && !canceled.has(run)) {
      if (agent.steers && (await steer(run, request))) return
      // A prompt that can't join the agent's own work comes after it.
      await wakes.over(sessionID)
    }
    // Canceled while its session was loaded or configured, or while it waited.
    if (canceled.has(run)) return run.end({ type: 'aborted' })
    if (dialect.version === 1) return sendTurn(run, request)
    const accepted = sendAndAccept(run, requireAgent().connection.request('session/prompt', request))
    // A prompt that is queued begins later.
    if (local.run(sessionID) === run) await accepted
  }

  /** Sends a prompt of version 1. Its response ends the run. */
  function sendTurn(run: LocalRun, request: { readonly sessionId: string }): void {
    const { sessionID } = run
    const turn = promptTurns.begin(run)
    const beforeEnd = hooks?.runStarting(run, (callID, childID) => {
      const output = sessions.link(sessionID, callID, childID)
      if (output) run.write(output)
      return output !== undefined
    })
    requireAgent()
      .connection.request('session/prompt', request)
      .finally(() => beforeEnd?.())
      .then(
        (response) => finish(turn, response),
        // The end of the agent is reported when the connection breaks.
        (error: unknown) => {
          if (error instanceof RequestError) promptTurns.end(turn, { type: 'failed', error: failureOf(error) }, [])
        },
      )
  }

  /**
   * Sends a prompt into the turn that its session runs. Resolves with false if there is none. Rejects with `refused` if the
   * agent doesn't take it.
   */
  async function steer(run: LocalRun, request: { readonly sessionId: string }): Promise<boolean> {
    const { sessionID } = run
    const { connection, dialect } = requireAgent()
    const turn = promptTurns.first(sessionID)
    if (dialect.version === 1 ? !turn : !turns.isWorking(sessionID)) return false
    let isTaken = false
    if (turn) promptTurns.steer(turn, run)
    else turns.expect(run)
    try {
      // Otherwise an agent whose turn has just ended would begin one whose end is not told.
      const params = { ...request, _meta: { steering: { idleBehavior: 'promptRequired' } } }
      const outcome = readSteering(await connection.call('_session/steering', params))
      isTaken = outcome === 'injected'
      if (isTaken || outcome === 'promptRequired') return isTaken
      const problem = `${name} did not take the prompt into its running turn`
      throw new ReplyError('refused', `${problem} (${outcome ?? 'without an outcome'}). Send it again when it is idle.`)
    } finally {
      if (turn) promptTurns.steered(turn, run, isTaken)
      else if (isTaken) turns.join(run)
      else turns.refuse(run)
    }
  }

  /**
   * Waits until the agent has taken a prompt of version 2. Its work may have ended by then. Ends the run if the agent refuses
   * the prompt.
   */
  async function sendAndAccept(run: LocalRun, answered: Promise<unknown>): Promise<void> {
    turns.expect(run)
    try {
      turns.accept(run, readMessageID(await answered))
    } catch (error) {
      turns.refuse(run)
      // The end of the agent is reported when the connection breaks.
      if (!(error instanceof RequestError)) return
      endRun(run, canceled.has(run) ? { type: 'aborted' } : { type: 'failed', error: failureOf(error) })
    }
  }

  /** Ends a turn with the response to its prompt. It fails if the response has no stop reason. */
  function finish(turn: PromptTurn, response: unknown): void {
    const end = readPromptEnd(response, sessions.costOf(turn.sessionID))
    if (end) return promptTurns.end(turn, endingOf(end.stopReason), end.usage)
    const message = `${name} ended the prompt without a stop reason.`
    promptTurns.end(turn, { type: 'failed', error: { name: 'malformed', message, raw: response } }, [])
  }

  /** Ends a run whose turn goes on in the run of another prompt, which the agent has read. */
  function handOver(run: LocalRun): void {
    run.write(...sessions.split(run.sessionID))
    endRun(run, { type: 'completed', finish: 'tool-calls' })
  }

  /**
   * Ends a run. Its sub-agents go on, unless it was canceled: then Claude's agent does not report their end, so they are
   * aborted.
   */
  function endRun(run: LocalRun, ending: LocalEnding): void {
    if (canceled.has(run)) subagents.abortBelow(run.sessionID)
    else subagents.leaveBehind(run)
    run.end(ending)
  }

  /** Takes an update of the agent. One of version 2 is held while it may belong to a prompt whose response is to come. */
  function update(params: unknown): void {
    const sent = running?.dialect.version === 2 ? decodeNotification(params) : undefined
    if (sent && !pastRuns.has(sent.sessionId)) {
      const { sessionId: sessionID, update: raw } = sent
      const rootID = rootOf(sessionID)
      if (turns.hold(rootID, params, rootID === sessionID ? readUserMessageID(raw) : undefined)) return
    }
    applyUpdate(params)
  }

  /** Returns the session that a sub-agent belongs to. A session that is not known yet may be announced by what is held. */
  function rootOf(sessionID: string): string {
    const session = local.session(sessionID)
    if (!session) return turns.holding() ?? sessionID
    return session.parentID === undefined ? sessionID : rootOf(session.parentID)
  }

  /**
   * Applies an update: to the session, its sub-agents and its run, or to the history of a session that is being loaded.
   * Reports a malformed one. The output of a session that is unknown is skipped, and the first one reported.
   */
  function applyUpdate(params: unknown): void {
    const updated = sessions.update(params, isIdle)
    if (!updated) {
      settings.onError?.(new ReplyError('malformed', `${name} sent a malformed session update. It was skipped.`))
      return
    }
    const { sessionID, decoded, begins, isInCall } = updated
    if (decoded.title !== undefined && local.session(sessionID)) local.update({ sessionID, title: decoded.title })
    if (decoded.notice) settings.onNotice?.(sessionID, decoded.notice)
    if (decoded.unknownKind !== undefined) reportOnce(decoded.unknownKind)
    const loadingID = loading.has(sessionID) ? sessionID : loadingChildren.get(sessionID)
    if (loadingID !== undefined) {
      loading.get(loadingID)?.push(params)
      const childID = decoded.subagent?.sessionID ?? decoded.message?.sessionID
      if (childID !== undefined) loadingChildren.set(childID, loadingID)
      return
    }
    if (decoded.reason !== undefined) wakes.explain(sessionID, decoded.reason)
    if (begins) wakes.begin(sessionID)
    const replay = pastRuns.get(sessionID)
    replay?.take(decoded)
    // Its prompt may come in its own session.
    if (decoded.message) subagents.receive(decoded.message)
    else if (decoded.outputs || decoded.subagent) subagents.begin(sessionID)
    const session = local.session(sessionID)
    if (!session && (decoded.outputs || decoded.subagent)) return reportUnknown(sessionID)
    // The states of a sub-agent also come with its parent's updates.
    const isRoot = session !== undefined && session.parentID === undefined
    const isWork = isRoot && !replay && running?.dialect.version === 2
    if (isWork && decoded.prompt) turns.insert(sessionID, decoded.prompt.messageID)
    if (isWork && decoded.state) turns.update(sessionID, decoded.state)
    if (isWork && decoded.outputs?.some(isContent)) turns.claim(sessionID)
    if (decoded.subagent) subagents.report(sessionID, decoded.subagent)
    if (decoded.outputs && !wakes.runOf(sessionID)) promptTurns.read(sessionID, decoded.outputs, isInCall)
    if (decoded.outputs) (isWork ? turns.runOf(sessionID) : writtenRun(sessionID))?.write(...decoded.outputs)
    if (decoded.endsTurn) wakes.end(sessionID)
    else wakes.keep(sessionID)
  }

  /** Reports the first output of a session that neither this program nor the agent has announced. */
  function reportUnknown(sessionID: string): void {
    if (unknownSessions.has(sessionID)) return
    unknownSessions.add(sessionID)
    const problem = `${name} sent output of the session ${sessionID}, which it did not announce. It was skipped.`
    settings.onError?.(new ReplyError('malformed', problem))
  }

  /** Reports a kind of update that the protocol doesn't have, once for each process. */
  function reportOnce(kind: string): void {
    if (unknownKinds.has(kind)) return
    unknownKinds.add(kind)
    const problem = `${name} sent session updates of the unknown kind "${kind}". They are skipped.`
    settings.onError?.(new ReplyError('unsupported', problem))
  }

  /** Writes what a terminal has printed, in the calls of the session's run. Does nothing if the session has no run. */
  function showTerminal(sessionID: string, terminalID: string): void {
    writtenRun(sessionID)?.write(...sessions.printed(sessionID, terminalID))
  }
}

/** Whether an output is part of an answer, and not only a count or a name. */
function isContent({ type }: LocalOutput): boolean {
  return type !== 'usage' && type !== 'context-limit' && type !== 'title'
}

/** Returns the path of a folder without links, `.` and `..`. Of a folder that doesn't exist, links are kept. */
async function spelled(directory: string): Promise<string> {
  return await realpath(directory).catch(() => resolve(directory))
}

/** Returns the error `unsupported` for a value of a setting, with the values that the agent offers. */
function notOffered(name: string, category: string, value: string, option: AcpConfigOption | undefined): ReplyError {
  const choices = option?.choices.map((choice) => choice.value).join(', ') ?? ''
  const cure = choices === '' ? 'Leave it out' : `Choose one of ${choices}`
  return new ReplyError('unsupported', `${name} has no ${category.replace('_', ' ')} "${value}". ${cure}.`)
}
