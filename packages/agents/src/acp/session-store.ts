import type { LocalOutput } from '@reply/core/source'
import { type Call, hasEnded, outputOf, rejectedCall, terminalsOf, withTerminals } from './decode/call.ts'
import type { AcpSession } from './decode/session.ts'
import type { DecodedUpdate } from './decode/update.ts'
import { decodeNotification } from './decode/v1/update.ts'
import type { PermissionRequest } from './decode/v2/permission.ts'
import type { AgentTerminal } from './decode/v2/terminal.ts'
import type { Texts } from './decode/v2/texts.ts'
import type { Dialect } from './dialect.ts'
import { emptySession } from './session.ts'

/** One session of the agent, with the calls and cost of its current run. */
interface StoredSession {
  details: AcpSession
  cost: number
  costBefore: number
  hasUsage: boolean
  calls: Map<string, Call>
  /** The terminals and texts of the run. Only version 2 of the protocol has them. */
  terminals: Map<string, AgentTerminal>
  texts: Texts
}

/** The sessions of the agent, from its responses and updates. */
export interface SessionStore {
  /** Returns what is known of a session. Undefined if nothing is. */
  details(sessionID: string): AcpSession | undefined
  /** Returns all sessions, in the order in which they became known. */
  all(): readonly AcpSession[]
  /** Stores the modes and settings of a response. Fields that it lacks stay. */
  open(sessionID: string, response: unknown): void
  /** Replaces these fields of a session. */
  change(sessionID: string, details: Partial<AcpSession>): void
  /** Starts a run: resets its calls and cost. */
  beginRun(sessionID: string): void
  /**
   * Starts a run whose calls are those of the run before, and returns the usage of that one: its cost, without tokens, because
   * the agent counts those of both at the end. Empty if nothing was counted so far.
   */
  split(sessionID: string): readonly LocalOutput[]
  /** Returns the run's cost so far, in US dollars. 0 if the agent tells none. */
  costOf(sessionID: string): number
  /**
   * Decodes an update and stores what it changes. Undefined if it is malformed. An update that begins work of an idle session
   * also starts a run, like `beginRun`.
   */
  update(params: unknown, isIdle: (sessionID: string) => boolean): Updated | undefined
  /** Whether a call of the session's run has not ended. */
  isCalling(sessionID: string): boolean
  /** Links a call to the sub-agent that it started, and returns its part. Undefined if the call is unknown. */
  link(sessionID: string, callID: string, childID: string, isBackground?: boolean): LocalOutput | undefined
  /**
   * Puts the text of a terminal into the unfinished calls that show it, and returns their parts. Call it when the terminal
   * has written or ended.
   */
  printed(sessionID: string, terminalID: string): readonly LocalOutput[]
  /**
   * Ends the call of a permission that was answered, as failed if it was rejected, and returns its part. Undefined if it has
   * ended, or is unknown.
   */
  ended(request: PermissionRequest, isRejected: boolean): LocalOutput | undefined
  /**
   * Returns the call of a permission request with what the request adds, and its part, which is running rather than pending.
   * Stores the call.
   */
  callFor(request: PermissionRequest): { readonly call: Call; readonly output: LocalOutput }
}

export interface Updated {
  readonly sessionID: string
  readonly decoded: DecodedUpdate
  /** Whether it began work that no prompt began. */
  readonly begins: boolean
  /** Whether it belongs to a call that had begun, or came while a call was open. */
  readonly isInCall: boolean
}

/**
 * Creates the store of what the agent's updates tell of each session: its settings, and the calls, texts and cost of
 * its current run. It decodes the updates with them. `dialectOf` returns the dialect of the running agent. `textOf`
 * returns the text of a terminal, or undefined if it is not open here.
 */
export function createSessionStore(
  dialectOf: () => Dialect,
  textOf: (terminalID: string) => string | undefined,
): SessionStore {
  const sessions = new Map<string, StoredSession>()
  return {
    details: (id) => sessions.get(id)?.details,
    all: () => [...sessions.values()].map(({ details }) => details),
    open: (id, response) => change(id, dialectOf().readSession(response)),
    change,
    beginRun,
    split,
    costOf,
    update,
    isCalling,
    link,
    printed,
    ended,
    callFor,
  }

  /** Returns the session. Creates it if needed, because updates may arrive before the response with its id. */
  function stored(sessionID: string): StoredSession {
    const known = sessions.get(sessionID)
    if (known) return known
    const made: StoredSession = {
      details: emptySession(sessionID),
      cost: 0,
      costBefore: 0,
      hasUsage: false,
      calls: new Map(),
      terminals: new Map(),
      texts: { parts: {} },
    }
    sessions.set(sessionID, made)
    return made
  }

  function change(sessionID: string, details: Partial<AcpSession>): void {
    const session = stored(sessionID)
    session.details = { ...session.details, ...details, sessionID }
  }

  function beginRun(sessionID: string): void {
    const session = stored(sessionID)
    session.costBefore = session.cost
    session.hasUsage = false
    session.calls = new Map()
    session.terminals = new Map()
    session.texts = { parts: {} }
  }

  function isCalling(sessionID: string): boolean {
    return [...stored(sessionID).calls.values()].some((call) => !hasEnded(call))
  }

  function split(sessionID: string): readonly LocalOutput[] {
    const session = stored(sessionID)
    const { hasUsage } = session
    const cost = costOf(sessionID)
    session.costBefore = session.cost
    session.hasUsage = false
    const tokens = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    return hasUsage ? [{ type: 'usage', stepID: 'turn', tokens, cost }] : []
  }

  function costOf(sessionID: string): number {
    const { cost, costBefore } = stored(sessionID)
    return Math.max(0, cost - costBefore)
  }

  function update(params: unknown, isIdle: (sessionID: string) => boolean): Updated | undefined {
    const notified = decodeNotification(params)
    if (!notified) return undefined
    const { sessionId: sessionID, update: raw } = notified
    const session = stored(sessionID)
    const begins = isIdle(sessionID) && dialectOf().beginsTurn(raw, session)
    if (begins) beginRun(sessionID)
    const decoded = dialectOf().decode(raw, { ...session, textOf })
    if (!decoded) return undefined
    const { call, calls = [], terminal, texts, outputs = [] } = decoded
    const isInCall = isCalling(sessionID) || (call !== undefined && session.calls.has(call.toolCallId))
    if (outputs.some(({ type }) => type === 'usage')) session.hasUsage = true
    for (const changed of call ? [call] : calls) session.calls.set(changed.toolCallId, changed)
    if (terminal) session.terminals.set(terminal.terminalID, terminal)
    if (texts) session.texts = texts
    if (decoded.cost !== undefined) session.cost = decoded.cost
    if (decoded.session) change(sessionID, decoded.session)
    return { sessionID, decoded, begins, isInCall }
  }

  function link(sessionID: string, callID: string, childID: string, isBackground = false): LocalOutput | undefined {
    const { calls } = stored(sessionID)
    const known = calls.get(callID)
    if (!known) return undefined
    const call = { ...known, childID, isBackground }
    calls.set(callID, call)
    return outputOf(call)
  }

  function printed(sessionID: string, terminalID: string): readonly LocalOutput[] {
    const { calls } = stored(sessionID)
    const showing = [...calls.values()].filter((call) => !hasEnded(call) && terminalsOf(call).includes(terminalID))
    return showing.map((known) => {
      const call = withTerminals(known, textOf)
      calls.set(call.toolCallId, call)
      return outputOf(call)
    })
  }

  function ended({ sessionId, toolCall }: PermissionRequest, isRejected: boolean): LocalOutput | undefined {
    const { calls } = stored(sessionId)
    const known = calls.get(toolCall.toolCallId)
    if (!known || hasEnded(known)) return undefined
    const call = isRejected ? rejectedCall(known) : { ...known, status: 'completed' }
    calls.set(call.toolCallId, call)
    return outputOf(call)
  }

  function callFor({ sessionId, toolCall }: PermissionRequest) {
    const { calls } = stored(sessionId)
    const call = dialectOf().askedCall(calls.get(toolCall.toolCallId), toolCall)
    calls.set(toolCall.toolCallId, call)
    return { call, output: outputOf(call, true) }
  }
}
