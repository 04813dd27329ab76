import { systemClock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { InputPart } from '../input.ts'
import { createMessageIDs } from '../message-id.ts'
import type { AskAddress, Capabilities, SessionInfo, SessionRead, Source, SourcePrompt, WorkStatus } from '../port.ts'
import { withoutDots } from '../without-dots.ts'
import type { LocalAgent, LocalAgentOptions, LocalHistoryRun } from './agent-options.ts'
import { createEventQueue } from './event-queue.ts'
import { failureOf, partsOf, toAnswer, withoutAbort } from './input.ts'
import type { LocalAnswer } from './output.ts'
import { createRun, type LocalChildStart, type LocalRun, type OwnedRun } from './run.ts'
import { createSessionLog, type SessionLog } from './session-log.ts'

/** The reading of a session's past. Its runs emit nothing until it is over. */
interface Past {
  isOver: boolean
  /** When the run that is being read began. Undefined if unknown. */
  at: number | undefined
}

/** How long an agent may take to end a canceled run, in ms. */
const giveUpMs = 10_000

/**
 * Creates a source for an agent whose sessions live as long as your program, for example a local process, or one
 * process per prompt. It keeps the sessions, the runs with their asks, and the connection's events. Your `options`
 * start, prompt and stop the agent.
 */
export function createLocalAgent(options: LocalAgentOptions): LocalAgent {
  const { name, clock = systemClock, redact = (text) => text } = options
  const sessions = new Map<string, SessionInfo>()
  /** The runs that have not ended, by session: the current one first, then those that wait for its end. */
  const runs = new Map<string, readonly OwnedRun[]>()
  /** What sessions hold. Empty unless the agent can read them. A session without a log was not read yet. */
  const logs = new Map<string, SessionLog>()
  /** Sessions that are being read. */
  const reads = new Map<string, Promise<void>>()
  const queue = createEventQueue()
  const ids = createMessageIDs({ clock })
  /** Canceled runs, with the functions that stop their timers. */
  const givingUp = new Map<OwnedRun, () => void>()
  let starting: Promise<void> | undefined
  let isClosed = false
  const source: Source = {
    name,
    isLocal: true,
    connect,
    learn: async () => capabilities(),
    startReading: () => {
      let statuses: ReturnType<typeof working> | undefined
      return { working: async () => (statuses ??= working()), session: readSession }
    },
    session,
    message: async (place, messageID) => {
      const message = (await requireLog(place)).messages().find(({ head }) => head.id === messageID)
      if (message) return message
      throw new ReplyError('gone', `Session ${place.sessionID} of ${name} has no message ${messageID}.`)
    },
    children: async (place) => {
      await session(place)
      await readOnce(place)
      return childrenOf(place.sessionID)
    },
    working: async () => working(),
    asks: async () => ({ asks: allRuns().flatMap((run) => run.asks()), isWhole: true }),
    sessions: listSessions,
    newestTime: async (directory) =>
      (await listSessions({ directory })).map(({ updatedAt = 0 }) => updatedAt).toSorted((a, b) => b - a)[0],
    spelled: async (directory) => (await options.spelled?.(directory)) ?? withoutDots(directory),
    create,
    prompt: async (place, prompt) => await start(place, prompt, partsOf(prompt)),
    command: async (place, { command, arguments: given = '', ...rest }) => {
      const text = `/${command} ${given}`.trim()
      await start(place, { ...rest, text }, [{ type: 'text', text }])
    },
    answer: async (ask, answer, signal) => await settle(ask, toAnswer(answer), signal),
    reject: async (ask, message, signal) => await settle(ask, { type: 'rejected', message }, signal),
    abort,
    models: async (directory) => {
      await ready()
      return (await options.models?.(directory)) ?? []
    },
    ...(options.fork && { fork }),
    ...(options.commands && { commands: options.commands }),
    ...(options.agents && { agents: options.agents }),
    close,
  }
  return { source, session: (id) => sessions.get(id), run: (id) => runs.get(id)?.[0], wake, update, fail }

  async function* connect({ signal }: { readonly signal: AbortSignal }): AsyncIterable<readonly ReplyEvent[]> {
    requireOpen()
    // A slow agent continues to start for the next connection.
    if (!(await withoutAbort(ready(), signal))) return
    queue.open()
    yield [{ type: 'connected', at: clock.now() }]
    yield* queue.read(signal)
  }

  function capabilities(): Capabilities {
    return {
      canRead: options.read !== undefined,
      nextMessageID: ids,
      keepsPromptIDs: false,
      takesPromptsWhileBusy: false,
      queuesPrompts: false,
      showsNotes: false,
      listsEverywhere: true,
      abortsAsks: true,
      ...options.capabilities?.(),
    }
  }

  async function ready(): Promise<void> {
    requireOpen()
    const begun = starting ?? (async () => await options.start?.())()
    starting = begun
    try {
      await begun
    } catch (error) {
      if (starting === begun) starting = undefined
      throw error
    }
    requireOpen()
  }

  async function session(place: SessionRef): Promise<SessionInfo> {
    requireOpen()
    const known = sessions.get(place.sessionID)
    if (known) return known
    await ready()
    const found = await options.find?.(place)
    if (!found) throw new ReplyError('gone', `${name} has no session ${place.sessionID}. Start a new one.`)
    return sessions.get(place.sessionID) ?? update(found)
  }

  async function listSessions(query: Parameters<Source['sessions']>[0]): Promise<readonly SessionInfo[]> {
    if (options.sessions) await ready()
    const listed = (await options.sessions?.(query)) ?? []
    const known = [...sessions.values()].filter(({ parentID }) => parentID === undefined)
    return [...new Map([...listed, ...known].map((info) => [info.sessionID, info])).values()]
  }

  function childrenOf(sessionID: string): readonly SessionInfo[] {
    return [...sessions.values()].filter(({ parentID }) => parentID === sessionID)
  }

  async function readSession(place: SessionRef): Promise<SessionRead> {
    const log = await requireLog(place)
    const { sessionID } = place
    return {
      info: await session(place),
      messages: log.messages(),
      isWhole: log.isWhole(),
      isSound: true,
      working: runs.has(sessionID) ? (log.working() ?? { status: 'busy' }) : undefined,
      asks: (runs.get(sessionID) ?? []).flatMap((run) => run.asks()),
      todos: log.todos(),
      children: childrenOf(sessionID),
    }
  }

  /** Returns what a session holds. Reads it first if it is from an earlier process. Rejects if the agent can't be read. */
  async function requireLog(place: SessionRef): Promise<SessionLog> {
    const { sessionID } = await session(place)
    if (!capabilities().canRead)
      throw new ReplyError(
        'unsupported',
        `${name} does not show the content of its sessions. Read the replies of its runs.`,
      )
    await readOnce(place)
    return openLog(sessionID)
  }

  /** Fills the log of a session that has none yet. Simultaneous calls share one read. A failed one can be repeated. */
  async function readOnce({ sessionID }: SessionRef): Promise<void> {
    const begun = reads.get(sessionID)
    if (begun) return await begun
    if (logs.has(sessionID) || !options.read || !capabilities().canRead) return
    const read = readPast(options.read, sessionID)
    reads.set(sessionID, read)
    try {
      await read
    } finally {
      reads.delete(sessionID)
    }
  }

  /**
   * Reads the runs of an earlier process into the session's log, without emitting events. A run that is still going becomes
   * the current one.
   */
  async function readPast(read: NonNullable<LocalAgentOptions['read']>, sessionID: string): Promise<void> {
    const place = { sessionID, directory: sessions.get(sessionID)?.directory }
    const past: Past = { isOver: false, at: undefined }
    let newest: OwnedRun | undefined
    openLog(sessionID)
    try {
      await read(place, { run: addPastRun })
    } catch (error) {
      newest?.end({ type: 'aborted' })
      logs.delete(sessionID)
      throw error
    } finally {
      past.isOver = true
    }

    function addPastRun({ parts, messageID = ids(), at }: LocalHistoryRun): LocalRun {
      newest?.end({ type: 'aborted' })
      past.at = at
      newest = addRun(place, messageID, false, past)
      newest.setPrompt(parts)
      newest.begin()
      return newest
    }
  }

  /** Returns the session's log. Creates an empty one first if there is none. */
  function openLog(sessionID: string): SessionLog {
    const log = logs.get(sessionID) ?? createSessionLog((childID) => logs.delete(childID))
    logs.set(sessionID, log)
    return log
  }

  async function create({ directory, ...input }: Parameters<Source['create']>[0]): Promise<SessionInfo> {
    await ready()
    const home = directory === undefined ? undefined : await source.spelled(directory)
    const made = await options.create({ ...input, directory: home })
    const at = clock.now()
    if (options.read) openLog(made.sessionID)
    return update({ title: input.title, createdAt: at, updatedAt: at, ...made })
  }

  async function fork(place: SessionRef, messageID?: string): Promise<SessionInfo> {
    await session(place)
    await readOnce(place)
    const copy = await options.fork?.(place, messageID)
    const log = logs.get(place.sessionID)
    if (copy && log) logs.set(copy.sessionID, log.copy(messageID))
    if (copy) return update(copy)
    throw new ReplyError('unsupported', `${name} can't copy sessions. Start a new one.`)
  }

  function update(info: SessionInfo): SessionInfo {
    const next = { ...sessions.get(info.sessionID), ...info }
    sessions.set(info.sessionID, next)
    const { sessionID, directory, parentID, title, createdAt } = next
    queue.push([{ type: 'session', at: clock.now(), sessionID, directory, parentID, title, createdAt }])
    return next
  }

  async function start(place: SessionRef, prompt: SourcePrompt, parts: readonly InputPart[]): Promise<void> {
    const { sessionID, directory } = await session(place)
    await ready()
    if (!queue.isOpen())
      throw new ReplyError(
        'refused',
        `${name} is not connected, so the prompt was not sent. Wait for the connection, then send it again.`,
      )
    await readOnce(place)
    const { queuesPrompts, takesPromptsWhileBusy } = capabilities()
    const joins = takesPromptsWhileBusy && prompt.delivery !== 'queue'
    if (runs.has(sessionID) && !queuesPrompts && !joins)
      throw new ReplyError('refused', `Session ${sessionID} runs one prompt at a time. Wait until it is idle.`)
    if (prompt.noReply) throw new ReplyError('unsupported', `${name} stores no notes. Send a prompt without noReply.`)
    const run = addRun({ sessionID, directory }, prompt.messageID ?? ids())
    run.setPrompt(parts)
    try {
      await options.prompt(run, prompt)
      // A queued run begins with its first output. One that joins is part of the same reply at once.
      if (joins || runs.get(sessionID)?.[0] === run) run.begin()
    } catch (error) {
      if (!drop(run)) return run.end({ type: 'failed', error: failureOf(error) })
      throw error
    }
  }

  /** Adds a run behind the session's other runs. */
  function addRun(place: SessionRef, promptID: string, isBackground = false, past?: Past): OwnedRun {
    const run = createRun({
      ...place,
      promptID,
      isBackground,
      nextID: ids,
      now: () => clock.now(),
      messageTime: () => (past && !past.isOver ? past.at : clock.now()),
      emit: (events) => {
        logs.get(place.sessionID)?.apply(promptID, events)
        if (!past || past.isOver) queue.push(events)
      },
      redact,
      startChild: (child) => startChild(run, child, past),
      onEnd: () => {
        drop(run)
        return (runs.get(place.sessionID) ?? []).some((other) => other.hasBegun())
      },
    })
    runs.set(place.sessionID, [...(runs.get(place.sessionID) ?? []), run])
    const known = sessions.get(place.sessionID)
    if (known) sessions.set(place.sessionID, { ...known, updatedAt: clock.now() })
    return run
  }

  /** Removes a run. Returns whether it had not begun. */
  function drop(run: OwnedRun): boolean {
    const others = (runs.get(run.sessionID) ?? []).filter((other) => other !== run)
    if (others.length > 0) runs.set(run.sessionID, others)
    else runs.delete(run.sessionID)
    givingUp.get(run)?.()
    givingUp.delete(run)
    return !run.hasBegun()
  }

  function wake({ sessionID }: SessionRef, reason: string): LocalRun {
    const current = runs.get(sessionID)?.[0]
    if (current) return current
    const run = addRun({ sessionID, directory: sessions.get(sessionID)?.directory }, ids())
    run.setPrompt([{ type: 'text', text: reason, synthetic: true }])
    run.begin()
    return run
  }

  function startChild(parent: OwnedRun, start: LocalChildStart, past: Past | undefined): OwnedRun {
    const { sessionID = ids().replace('msg', 'ses'), title, text, background } = start
    const at = clock.now()
    const { directory } = parent
    update({ sessionID, parentID: parent.sessionID, directory, title, createdAt: at, updatedAt: at })
    if (options.read) openLog(sessionID)
    logs.get(parent.sessionID)?.addChild(parent.promptID, sessionID)
    const run = addRun({ sessionID, directory }, ids(), background === true, past)
    if (text !== undefined) run.setPrompt([{ type: 'text', text }])
    run.begin()
    return run
  }

  async function settle(ask: AskAddress, answer: LocalAnswer, signal: AbortSignal | undefined): Promise<void> {
    requireOpen()
    signal?.throwIfAborted()
    const run = runs
      .get(ask.sessionID)
      ?.find((each) => each.asks().some(({ requestID }) => requestID === ask.requestID))
    if (!run)
      throw new ReplyError('gone', `The ask ${ask.requestID} is no longer pending, so there is nothing to answer.`)
    await run.answer(ask.requestID, answer)
  }

  /** Cancels the session's runs, and its sub-agents in the background, which may have outlived the run that began them. */
  async function abort(place: SessionRef): Promise<void> {
    await session(place)
    const canceled = allRuns().filter(
      ({ sessionID, isBackground }) =>
        sessionID === place.sessionID || (isBackground && isBelow(sessionID, place.sessionID)),
    )
    for (const run of canceled) {
      run.cancelAsks()
      giveUpLater(run)
    }
    await Promise.all(canceled.filter(({ isOpen }) => isOpen()).map(async (run) => await options.cancel(run, place)))
  }

  function isBelow(sessionID: string, ancestorID: string): boolean {
    const parentID = sessions.get(sessionID)?.parentID
    return parentID !== undefined && (parentID === ancestorID || isBelow(parentID, ancestorID))
  }

  function allRuns(): readonly OwnedRun[] {
    return [...runs.values()].flat()
  }

  /** Fails the run if the agent ignores the cancel, because its session would take no more prompts. */
  function giveUpLater(run: OwnedRun): void {
    if (givingUp.has(run)) return
    const stop = clock.after(giveUpMs, () => {
      options.kill?.(run)
      const message = `${name} did not stop the run within ${giveUpMs} ms, so the run failed.`
      run.end({ type: 'failed', error: failureOf(new ReplyError('not-stopped', message)) })
    })
    givingUp.set(run, stop)
  }

  function working(): ReadonlyMap<string, WorkStatus> {
    return new Map([...runs.keys()].map((sessionID) => [sessionID, { status: 'busy' }]))
  }

  function fail(error: ReplyError): void {
    starting = undefined
    for (const run of allRuns()) run.end({ type: 'failed', error: failureOf(error) })
    queue.fail(error)
  }

  function requireOpen(): void {
    if (isClosed) throw new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`)
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    for (const run of allRuns()) run.end({ type: 'aborted' })
    queue.fail(new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`))
    options.close?.()
  }
}
