import type { LocalEnding, LocalRun, ToolState } from '@reply/core/source'
import type { DecodedMessage, DecodedSubagent } from './decode/update.ts'
import type { SessionStore } from './session-store.ts'

/** The sub-agents of an agent. Each has a session and a run of its own, and may go on after the run that started it. */
export interface Subagents {
  /**
   * Announces, begins, changes or ends a sub-agent of the session. A known one takes the title, begins with any state, and
   * ends with an ending. One that has ended is announced again if it is said to be running. Ignores the end of one that is
   * unknown, and a session that reports itself, one above it, or a root session.
   */
  report(parentID: string, subagent: DecodedSubagent): void
  /** Takes the prompt of a sub-agent that was announced, and begins its run. Ignores messages to others. */
  receive(message: DecodedMessage): void
  /**
   * Begins the run of this session if the session is a sub-agent that was announced. Without a run of its parent, it counts
   * as ended instead. Call it before output and asks.
   */
  begin(sessionID: string): void
  /**
   * Begins the announced sub-agents of this run's session, and marks the calls of those that this run started as returned.
   * Call it before the run ends.
   */
  leaveBehind(run: LocalRun): void
  /** Ends all sub-agents below the session as aborted, at any depth. Those that were only announced end without a run. */
  abortBelow(sessionID: string): void
}

interface Subagent {
  readonly sessionID: string
  readonly parentID: string
  readonly title: string | undefined
  /** Its prompt. Undefined if the agent doesn't send it. */
  readonly text: string | undefined
  readonly callID: string
  /** `announced`: its run begins with what comes next of it, because its prompt comes after its announcement. */
  readonly state: 'announced' | 'running' | 'ended'
  /** Its run, and the run that started it. Undefined unless it is running. */
  readonly run?: LocalRun | undefined
  readonly parent?: LocalRun | undefined
}

/**
 * Creates the sub-agents of one agent, none at first. It begins and ends their runs, and shows the calls that started them.
 * `runOf` returns the run that a session's output goes to. `isRoot` tells whether a session is a known root session.
 */
export function createSubagents(
  runOf: (sessionID: string) => LocalRun | undefined,
  isRoot: (sessionID: string) => boolean,
  sessions: Pick<SessionStore, 'beginRun' | 'link'>,
): Subagents {
  const known = new Map<string, Subagent>()
  let announced = 0
  return { report, receive, begin, leaveBehind, abortBelow }

  function report(parentID: string, { sessionID, title, state }: DecodedSubagent): void {
    const before = known.get(sessionID)
    // The run also ends with the agent's process.
    if (before && before.state !== 'ended' && before.run?.isOpen() !== false) {
      if (title !== undefined) known.set(sessionID, { ...before, title })
      if (state !== undefined) begin(sessionID)
      if (typeof state === 'object') end(sessionID, state)
      return
    }
    // A sub-agent that ended runs again only if the agent says so.
    if (typeof state === 'object' || (before && state !== 'running')) return
    // A session can't be below itself, and another root session has prompts of its own.
    if (isRoot(sessionID) || isWithin(parentID, sessionID)) return
    begin(parentID)
    announced += 1
    const callID = `subagent_${announced}`
    const fields = { sessionID, parentID, title: title ?? before?.title, text: undefined, callID }
    known.set(sessionID, { ...fields, state: 'announced' })
  }

  /** Whether the session is the other one or below it. */
  function isWithin(sessionID: string, ancestorID: string): boolean {
    if (sessionID === ancestorID) return true
    const parentID = known.get(sessionID)?.parentID
    return parentID !== undefined && isWithin(parentID, ancestorID)
  }

  function receive({ id, sessionID, text }: DecodedMessage): void {
    const subagent = known.get(sessionID)
    if (subagent?.state !== 'announced') return
    known.set(sessionID, { ...subagent, text, callID: id })
    begin(sessionID)
  }

  function begin(sessionID: string): void {
    const subagent = known.get(sessionID)
    if (subagent?.state !== 'announced') return
    const parent = runOf(subagent.parentID)
    if (!parent) return void known.set(sessionID, { ...subagent, state: 'ended' })
    sessions.beginRun(sessionID)
    const { title, text } = subagent
    const running: Subagent = {
      ...subagent,
      state: 'running',
      parent,
      run: parent.child({ sessionID, title, text, background: true }),
    }
    known.set(sessionID, running)
    showCall(running, { status: 'running' })
  }

  /**
   * Ends a running sub-agent and its call. Its own sub-agents go on if it has completed, and are aborted otherwise. Does
   * nothing for any other.
   */
  function end(sessionID: string, ending: LocalEnding): void {
    const subagent = known.get(sessionID)
    if (subagent?.state !== 'running') return
    if (ending.type !== 'completed') abortBelow(sessionID)
    else if (subagent.run) leaveBehind(subagent.run)
    subagent.run?.end(ending)
    if (ending.type === 'completed') showCall(subagent, { status: 'completed', output: '' })
    else {
      const error = ending.type === 'failed' ? ending.error.message : 'The sub-agent was stopped.'
      showCall(subagent, { status: 'error', error })
    }
    known.set(sessionID, { ...subagent, state: 'ended', run: undefined, parent: undefined })
  }

  function leaveBehind(run: LocalRun): void {
    for (const { sessionID, parentID } of [...known.values()]) if (parentID === run.sessionID) begin(sessionID)
    for (const subagent of known.values())
      if (subagent.parent === run) showCall(subagent, { status: 'completed', output: '' }, true)
  }

  function abortBelow(sessionID: string): void {
    for (const subagent of [...known.values()]) {
      if (subagent.parentID !== sessionID) continue
      if (subagent.state === 'announced') known.set(subagent.sessionID, { ...subagent, state: 'ended' })
      end(subagent.sessionID, { type: 'aborted' })
    }
  }

  /**
   * Writes the call that started a sub-agent to its parent's run. Newer agents leave that call out, so one is made with the
   * state of the sub-agent. A call that the agent has sent keeps its own state.
   */
  function showCall(
    { parent, parentID, sessionID, callID, title, text }: Subagent,
    state: Pick<ToolState, 'status' | 'output' | 'error'>,
    isBackground = false,
  ): void {
    const ownCall = sessions.link(parentID, callID, sessionID, isBackground)
    if (ownCall) return parent?.write(ownCall)
    const input = { ...(title !== undefined && { description: title }), ...(text !== undefined && { prompt: text }) }
    const metadata = { sessionId: sessionID, ...(isBackground && { background: true }) }
    parent?.write({ type: 'tool', callID, tool: 'task', state: { ...state, input, metadata } })
  }
}
