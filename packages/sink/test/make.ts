import {
  emptyReply,
  type Part,
  type PermissionAsk,
  type Question,
  type QuestionAsk,
  type Reply,
  type TextPart,
  type ToolPart,
} from '@reply/core'
import type { ToolState } from '@reply/core/source'
import { type Policy, toPolicy } from '../src/config.ts'
import type { Card } from '../src/ledger/card.ts'
import { emptyLedger, type Ledger, shownOf } from '../src/ledger/ledger.ts'
import { texts } from '../src/texts.ts'
import { type View, type ViewOptions, view } from '../src/view/view.ts'
import { beginning } from './timeline.ts'

/** Short builders for replies and views. All times start at `beginning`. */

let count = 0

function place(): { id: string; messageID: string; raw: undefined } {
  return { id: `prt_${++count}`, messageID: 'msg_2', raw: undefined }
}

export function text(said: string, more: Partial<TextPart> = {}): TextPart {
  return { ...place(), type: 'text', status: 'sealed', text: said, ...more }
}

export function thought(said: string): Part {
  return { ...place(), type: 'reasoning', status: 'sealed', text: said }
}

export function call(tool: string, state: Partial<ToolState> = {}): ToolPart {
  const isOver = state.status === 'completed' || state.status === 'error'
  const known: ToolState = { status: 'running', input: {}, ...state }
  return { ...place(), type: 'tool', tool, callID: `call_${count}`, status: isOver ? 'sealed' : 'open', state: known }
}

/** A running reply. */
export function replyWith(parts: readonly Part[], more: Partial<Reply> = {}): Reply {
  return {
    ...emptyReply('ses_1'),
    promptIDs: ['msg_1'],
    phase: 'working',
    startedAt: beginning,
    messages: [{ id: 'msg_2', parts, raw: undefined }],
    ...more,
  }
}

/** A reply that settled after that many ms. */
export function settledWith(parts: readonly Part[], more: Partial<Reply> = {}, afterMs = 2000): Reply {
  const ends = { phase: 'settled', outcome: 'completed', finish: 'stop', settledAt: beginning + afterMs } as const
  return replyWith(parts, { ...ends, ...more })
}

export function using(contextTokens: number): Pick<Reply, 'usage'> {
  return { usage: { ...emptyReply('ses_1').usage, steps: 1, contextTokens, contextLimit: 100_000 } }
}

export function questionOf(more: Partial<Question> = {}): Question {
  const options = ['Red', 'Green', 'Blue'].map((label) => ({ label, description: '' }))
  return { header: 'Colour', question: 'Which one?', options, multiple: false, custom: false, ...more }
}

const asking = {
  sessionID: 'ses_1',
  directory: undefined,
  path: ['ses_1'],
  status: 'pending',
  askedAt: beginning,
} as const

export function asks(questions: readonly Question[] = [questionOf()], more: Partial<QuestionAsk> = {}): QuestionAsk {
  return { type: 'question', requestID: 'que_1', ...asking, questions, ...more }
}

export function permits(more: Partial<PermissionAsk> = {}): PermissionAsk {
  const input = { tool: 'bash', input: { command: 'npm test' } }
  const what = {
    permission: 'bash',
    patterns: ['npm test'],
    always: ['touch *'],
    title: 'bash: npm test',
    metadata: {},
  }
  return { type: 'permission', requestID: 'per_1', ...asking, ...what, call: input, ...more }
}

export interface Viewing extends Partial<Omit<ViewOptions, 'policy'>> {
  readonly policy?: Partial<Policy>
  readonly ledger?: Ledger
  /** Ms after the beginning. */
  readonly atMs?: number
}

export function viewOf(reply: Reply, { policy, ledger = emptyLedger, atMs = 3000, ...more }: Viewing = {}): View {
  return view(reply, {
    policy: toPolicy(policy),
    texts,
    mode: 'live',
    now: beginning + atMs,
    shown: shownOf(ledger),
    secretOf: () => 's3cret',
    buttons: { perRow: 3, rows: 8, label: 40 },
    uploads: false,
    ...more,
  })
}

/** The sources of the cards of one type. */
export function saidIn({ cards }: View, type: Card['type']): readonly string[] {
  return cards.filter((card) => card.type === type).map(({ source }) => source)
}
