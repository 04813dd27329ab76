import {
  type Change,
  emptyReply,
  emptyTrack,
  type Part,
  type PermissionAsk,
  type Reply,
  type ReplyEvent,
  reduce,
  type TrackState,
  track,
} from '@reply/core'
import type { SessionScopedEvent } from '../src/event.ts'
import type { TrackLimits } from '../src/track/state.ts'

/** Short constructors for the events of `track`. All are of session `root` unless they say otherwise. */
export const root = 'ses_root'
const at = 1000

type Of<T extends ReplyEvent['type']> = Extract<ReplyEvent, { type: T }>
type Session = { readonly sessionID?: string }

export function session(sessionID = root, more: Partial<Of<'session'>> = {}): Of<'session'> {
  return { type: 'session', at, sessionID, ...more }
}

export type Head = Of<'message'>['message']

export function message(id: string, more: Partial<Head> & Session = {}): Of<'message'> {
  const { sessionID = root, ...head } = more
  return { type: 'message', at, sessionID, message: { id, role: 'assistant', summary: false, raw: undefined, ...head } }
}

export function user(id: string, more: Partial<Head> & Session = {}): Of<'message'> {
  return message(id, { role: 'user', ...more })
}

/** An assistant message that has ended. */
export function ended(id: string, more: Partial<Head> & Session = {}): Of<'message'> {
  return message(id, { completedAt: 2000, finish: 'stop', ...more })
}

function place(messageID: string, name: string) {
  return { id: `${messageID}.${name}`, messageID, raw: undefined }
}

type PartOf<T extends Part['type']> = Extract<Part, { type: T }>

export function part(part: Part, sessionID = root): Of<'part'> {
  return { type: 'part', at, sessionID, part }
}

/** An open text. Its id is the message's plus `.t`: in message `m1` it is `m1.t`. */
export function text(messageID: string, words: string, more: Partial<PartOf<'text'>> & Session = {}): Of<'part'> {
  const { sessionID, ...rest } = more
  return part({ ...place(messageID, 't'), status: 'open', type: 'text', text: words, ...rest }, sessionID)
}

export function reasoning(
  messageID: string,
  words: string,
  more: Partial<PartOf<'reasoning'>> & Session = {},
): Of<'part'> {
  const { sessionID, ...rest } = more
  return part({ ...place(messageID, 'r'), status: 'open', type: 'reasoning', text: words, ...rest }, sessionID)
}

type ToolMore = Partial<PartOf<'tool'>['state']> & Session & { readonly tool?: string; readonly callID?: string }

/** A tool call's part, `m1.call`, of the call `call`. */
export function tool(messageID: string, more: ToolMore = {}): Of<'part'> {
  const { sessionID, tool = 'bash', callID = 'call', ...state } = more
  const ended = state.status === 'completed' || state.status === 'error'
  return part(
    {
      ...place(messageID, callID),
      status: ended ? 'sealed' : 'open',
      type: 'tool',
      tool,
      callID,
      state: { status: 'running', input: {}, ...state },
    },
    sessionID,
  )
}

/** The call of a task tool that names the session it started. */
export function task(messageID: string, childID: string, more: ToolMore = {}): Of<'part'> {
  return tool(messageID, { tool: 'task', metadata: { sessionId: childID }, ...more })
}

export function stepStart(messageID: string, id = 'start'): Of<'part'> {
  return part({ ...place(messageID, id), status: 'sealed', type: 'step-start' })
}

export function stepFinish(messageID: string, input: number, id = 'finish'): Of<'part'> {
  const tokens = { input, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
  return part({ ...place(messageID, id), status: 'sealed', type: 'step-finish', reason: 'stop', tokens, cost: 0.5 })
}

/** A piece of text for a part; for `m1.t` unless the part is named. */
export function delta(messageID: string, words: string, more: Partial<Of<'delta'>> = {}): Of<'delta'> {
  return {
    type: 'delta',
    at,
    sessionID: root,
    messageID,
    partID: `${messageID}.t`,
    field: 'text',
    delta: words,
    ...more,
  }
}

export function busy(sessionID = root): Of<'status'> {
  return { type: 'status', at, sessionID, status: 'busy' }
}

export function idle(sessionID = root): Of<'status'> {
  return { type: 'status', at, sessionID, status: 'idle' }
}

export function settle(by: Of<'settle'>['by'], sessionID = root): Of<'settle'> {
  return { type: 'settle', at, sessionID, by }
}

export function failed(name: string, words = 'no', sessionID = root): Of<'error'> {
  return { type: 'error', at, sessionID, error: { name, message: words, raw: undefined } }
}

function asking(requestID: string, sessionID: string) {
  return { requestID, sessionID, directory: undefined, path: [sessionID], status: 'pending', askedAt: at } as const
}

type PermissionMore = Partial<Omit<PermissionAsk, 'type'>>

export function permission(requestID: string, sessionID = root, more: PermissionMore = {}): Of<'asked'> {
  const what = { permission: 'bash', patterns: ['ls'], always: ['ls'], title: 'bash: ls', metadata: {}, ...more }
  return { type: 'asked', at, sessionID, ask: { ...asking(requestID, sessionID), type: 'permission', ...what } }
}

export function question(requestID: string, sessionID = root): Of<'asked'> {
  const questions = [{ header: '', question: 'Red?', options: [], multiple: false, custom: true }]
  return { type: 'asked', at, sessionID, ask: { ...asking(requestID, sessionID), type: 'question', questions } }
}

export function closed(requestID: string, how: Of<'ask-closed'>['how'], sessionID = root): Of<'ask-closed'> {
  return { type: 'ask-closed', at: 3000, sessionID, requestID, how }
}

/** A REST snapshot of a busy session. */
export function snapshot(more: Partial<Of<'snapshot'>> = {}): Of<'snapshot'> {
  const nothing = { session: {}, messages: [], asks: [], todos: [], children: [] } as const
  return { type: 'snapshot', at, sessionID: root, status: 'busy', gap: false, complete: false, ...nothing, ...more }
}

/** A prompt, and the model working on its first step `m1`. */
export const running: readonly SessionScopedEvent[] = [session(), user('u1'), busy(), message('m1')]

/** The same with a sub-agent, `child`, working on its own step `c1`. */
export const delegated: readonly SessionScopedEvent[] = [
  ...running,
  task('m1', 'child'),
  session('child', { parentID: root }),
  user('cu', { sessionID: 'child' }),
  busy('child'),
  message('c1', { sessionID: 'child' }),
]

export interface Run {
  readonly state: TrackState
  /** The last state of every root reply, by session and run, in order of opening. */
  readonly opened: ReadonlyMap<string, Reply>
  readonly replies: readonly Reply[]
  /** The newest of them; an empty one if none was opened. */
  readonly reply: Reply
  /** The changes of these events, in all replies. */
  readonly changes: readonly Change[]
  /** How many held events were dropped so far. */
  readonly dropped: number
}

export function start(limits: Partial<TrackLimits> = {}): Run {
  return {
    state: emptyTrack(limits),
    opened: new Map(),
    replies: [],
    reply: emptyReply('none'),
    changes: [],
    dropped: 0,
  }
}

/** Tracks the events in order, from nothing or from the end of another run. */
export function run(events: readonly ReplyEvent[], from: Run = start()): Run {
  let { state, dropped } = from
  const changes: Change[] = []
  const opened = new Map(from.opened)
  for (const event of events) {
    const tracked = track(state, event)
    state = tracked.state
    dropped += tracked.dropped
    for (const step of tracked.steps) {
      changes.push(...step.changes)
      opened.set(`${step.reply.sessionID} ${step.run}`, step.reply)
    }
  }
  const replies = [...opened.values()]
  return { state, opened, replies, reply: replies.at(-1) ?? from.reply, changes, dropped }
}

/** The changes that one event makes after others. */
export function changesOf(before: readonly ReplyEvent[], event: ReplyEvent): readonly Change[] {
  return run([event], run(before)).changes
}

export function typesOf(changes: readonly Change[]): readonly Change['type'][] {
  return changes.map((change) => change.type)
}

/** The result of `reduce` alone, with all changes on the way. */
export function reduced(events: readonly SessionScopedEvent[], from: Reply = emptyReply(root)) {
  const changes: Change[] = []
  let reply = from
  for (const event of events) {
    const step = reduce(reply, event)
    reply = step.reply
    changes.push(...step.changes)
  }
  return { reply, changes }
}
