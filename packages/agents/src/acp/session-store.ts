import type { LocalOutput } from '@reply/core/source'
import { askedCall, type Call, hasEnded, outputOf, rejectedCall, terminalsOf, withTerminals } from './decode/call.ts'
import type { PermissionRequest } from './decode/schema.ts'
import { decodeNotification, decodeUpdate, readSession, type Told } from './decode/update.ts'
import { type AcpSession, emptySession } from './session.ts'

/** One session of the agent, and the run that its prompt started. */
interface Held {
  details: AcpSession
  cost: number
  costBefore: number
  calls: Map<string, Call>
}

/** What the agent has told of its sessions. */
export interface SessionStore {
  details(sessionID: string): AcpSession | undefined
  all(): readonly AcpSession[]
  /** Takes the modes and settings of a response. */
  open(sessionID: string, response: unknown): void
  change(sessionID: string, details: Partial<AcpSession>): void
  /** A prompt begins: its calls and cost are counted from here. */
  beginRun(sessionID: string): void
  /** What the run has cost so far, in US dollars. */
  costOf(sessionID: string): number
  /** Decodes an update. Undefined if it is malformed. */
  update(params: unknown): Updated | undefined
  /** A call started a sub-agent. Undefined if no such call is known. */
  link(sessionID: string, callID: string, childID: string): LocalOutput | undefined
  /** A terminal has written or ended: the calls that show it and have not ended. */
  printed(sessionID: string, terminalID: string): readonly LocalOutput[]
  /** The call of a permission, now that a person rejected it. Undefined if it has ended. */
  rejected(request: PermissionRequest): LocalOutput | undefined
  /** The call that a permission is about, as its part shows it. */
  callFor(request: PermissionRequest): { readonly call: Call; readonly output: LocalOutput }
}

export interface Updated {
  readonly sessionID: string
  readonly told: Told
}

/** `textOf` returns what a terminal shows: undefined if it is not open here. */
export function createSessionStore(textOf: (terminalID: string) => string | undefined): SessionStore {
  const sessions = new Map<string, Held>()
  return {
    details: (id) => sessions.get(id)?.details,
    all: () => [...sessions.values()].map(({ details }) => details),
    open: (id, response) => change(id, readSession(response)),
    change,
    beginRun,
    costOf: (id) => Math.max(0, held(id).cost - held(id).costBefore),
    update,
    link,
    printed,
    rejected,
    callFor,
  }

  /** Updates may come before the response that names the session. */
  function held(sessionID: string): Held {
    const known = sessions.get(sessionID)
    if (known) return known
    const made: Held = { details: emptySession(sessionID), cost: 0, costBefore: 0, calls: new Map() }
    sessions.set(sessionID, made)
    return made
  }

  function change(sessionID: string, details: Partial<AcpSession>): void {
    const session = held(sessionID)
    session.details = { ...session.details, ...details, sessionID }
  }

  function beginRun(sessionID: string): void {
    const session = held(sessionID)
    session.costBefore = session.cost
    session.calls = new Map()
  }

  function update(params: unknown): Updated | undefined {
    const notified = decodeNotification(params)
    if (!notified) return undefined
    const { sessionId: sessionID, update: raw } = notified
    const session = held(sessionID)
    const told = decodeUpdate(raw, { ...session, textOf })
    if (!told) return undefined
    if (told.call) session.calls.set(told.call.toolCallId, told.call)
    if (told.cost !== undefined) session.cost = told.cost
    if (told.session) change(sessionID, told.session)
    return { sessionID, told }
  }

  function link(sessionID: string, callID: string, childID: string): LocalOutput | undefined {
    const { calls } = held(sessionID)
    const known = calls.get(callID)
    if (!known) return undefined
    const call = { ...known, childID }
    calls.set(callID, call)
    return outputOf(call)
  }

  function printed(sessionID: string, terminalID: string): readonly LocalOutput[] {
    const { calls } = held(sessionID)
    const showing = [...calls.values()].filter((call) => !hasEnded(call) && terminalsOf(call).includes(terminalID))
    return showing.map((known) => {
      const call = withTerminals(known, textOf)
      calls.set(call.toolCallId, call)
      return outputOf(call)
    })
  }

  function rejected({ sessionId, toolCall }: PermissionRequest): LocalOutput | undefined {
    const { calls } = held(sessionId)
    const known = calls.get(toolCall.toolCallId)
    if (!known || hasEnded(known)) return undefined
    const call = rejectedCall(known)
    calls.set(call.toolCallId, call)
    return outputOf(call)
  }

  function callFor({ sessionId, toolCall }: PermissionRequest) {
    const { calls } = held(sessionId)
    const call = askedCall(calls.get(toolCall.toolCallId), toolCall)
    calls.set(toolCall.toolCallId, call)
    return { call, output: outputOf(call, true) }
  }
}
