import type { Outcome, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { createActivityTimes } from '../src/view/status.ts'
import type { Mode } from '../src/view/view.ts'
import { shownEntry } from './entries.ts'
import {
  asks,
  call,
  questionOf,
  replyWith,
  saidIn,
  settledWith,
  text,
  thought,
  using,
  type Viewing,
  viewOf,
} from './make.ts'
import { beginning } from './timeline.ts'

const statusOf = (reply: Reply, viewing?: Viewing): string | undefined => saidIn(viewOf(reply, viewing), 'status')[0]
const endingsOf = (reply: Reply, viewing?: Viewing): readonly string[] => saidIn(viewOf(reply, viewing), 'ending')
const notesOf = (reply: Reply, viewing?: Viewing): readonly string[] => saidIn(viewOf(reply, viewing), 'note')

const running = call('bash', { input: { command: 'npm test' }, title: 'npm test' })
const child = { background: false, agent: 'general', title: 'Explore code', callID: 'call_1' }

describe('the status', () => {
  test.each<[string, Reply, string]>([
    ['nothing yet', replyWith([], { phase: 'waiting' }), 'Working'],
    ['a thought', replyWith([{ ...thought('Hm.'), status: 'open' }]), 'Thinking'],
    ['a text', replyWith([text('It', { status: 'open' })]), 'Writing'],
    ['a tool', replyWith([running]), 'bash: npm test'],
    ['a tool of a server', replyWith([call('mcp__my_files__read', { title: 'a.txt' })]), 'read: a.txt'],
    ['a lost connection', replyWith([running], { connection: 'lost' }), 'connection lost, reconnecting …'],
    ['a silence', replyWith([running], { stalled: true }), 'no progress for a while'],
    [
      'another try',
      replyWith([], { phase: 'retrying', retry: { message: 'Rate limited', attempt: 2, nextAt: beginning + 15_000 } }),
      'Rate limited: retrying in 15s (attempt 2)',
    ],
    [
      'a compaction',
      replyWith([], { compaction: { state: 'running', auto: true, startedAt: beginning, tokensBefore: 81_400 } }),
      'Compacting 81.4k tokens',
    ],
    [
      'a sub-agent',
      replyWith([], { children: [{ ...child, reply: replyWith([call('read', { title: 'notes.md' })]) }] }),
      'general(Explore code) · read: notes.md',
    ],
  ])('shows the activity: %s', (_, reply, said) => {
    expect(statusOf(reply)).toBe(said)
  })

  test('shows the elapsed time from the first tick on, in steps of the tick', () => {
    const shown = [1499, 1500, 4999, 5000, 9999, 65_000].map((atMs) => statusOf(replyWith([running]), { atMs }))
    expect(shown).toEqual([
      undefined,
      'bash: npm test',
      'bash: npm test',
      'bash: npm test · 5s',
      'bash: npm test · 5s',
      'bash: npm test · 1m 05s',
    ])
  })

  test.each<[string, (since: number) => Partial<Reply>]>([
    ['a sub-agent', (startedAt) => ({ children: [{ ...child, reply: replyWith([running], { startedAt }) }] })],
    ['a compaction', (startedAt) => ({ compaction: { state: 'running', auto: true, startedAt } })],
    ['an ask', () => ({ phase: 'blocked', asks: [asks()] })],
  ])('begins a new time for what follows on %s', (_, during) => {
    const times = createActivityTimes()
    const at = (atMs: number, more: Partial<Reply> = {}) => {
      const now = beginning + atMs
      return statusOf(replyWith([], more), { atMs, activitySince: (activity) => times.since(activity, now) })
    }
    expect(at(2000)).toBe('Working')
    at(4000, during(beginning + 4000))
    expect(at(14_000)).toBe('Working')
    expect(at(19_000)).toBe('Working · 5s')
  })

  test.each<[string, Partial<Reply>]>([
    ['a sub-agent', { children: [{ ...child, reply: replyWith([running], { startedAt: beginning + 4000 }) }] }],
    ['a compaction', { compaction: { state: 'running', auto: true, startedAt: beginning + 4000 } }],
  ])('counts the time of %s from its beginning, also if it is first seen later', (_, more) => {
    const activitySince = () => beginning + 14_000
    expect(statusOf(replyWith([], more), { atMs: 14_000, activitySince })).toMatch(/ · 10s$/)
  })

  test('is updated at its beginning and at each tick', () => {
    expect(viewOf(replyWith([running]), { atMs: 0 }).nextAt).toBe(beginning + 1500)
    expect(viewOf(replyWith([running]), { atMs: 7000 }).nextAt).toBe(beginning + 10_000)
  })

  test('shows the step after the first, and how full the context is from 60 % on', () => {
    expect(statusOf(replyWith([running], using(59_000)))).toBe('bash: npm test · step 2')
    expect(statusOf(replyWith([running], using(60_000)))).toBe('bash: npm test · step 2 · context 60%')
  })

  test("ends with the host's label", () => {
    expect(statusOf(replyWith([running], using(59_000)), { label: 'k3f9' })).toBe('bash: npm test · step 2 · k3f9')
  })

  test.each<[string, Reply, Viewing]>([
    ['when it has settled', settledWith([text('Done.')]), {}],
    ['while a person is asked', replyWith([], { phase: 'blocked', asks: [asks()] }), {}],
    ['where people want quiet', replyWith([running]), { policy: { verbosity: 'quiet' } }],
    ['where nothing can be edited', replyWith([running]), { mode: 'sealed' }],
  ])('is not shown %s', (_, reply, viewing) => {
    expect(statusOf(reply, viewing)).toBeUndefined()
  })

  test('never splits a surrogate pair', () => {
    const said = statusOf(replyWith([call('bash', { title: `${'x'.repeat(112)}👍👍👍` })]))
    expect(said).not.toMatch(/\p{Surrogate}/u)
    expect(said).toMatch(/x👍*…$/u)
  })
})

describe('typing', () => {
  test.each<[string, Reply, boolean]>([
    ['it works', replyWith([running]), true],
    ['it has settled', settledWith([]), false],
    ['a person is asked', replyWith([], { phase: 'blocked', asks: [asks()] }), false],
    ['the connection is lost', replyWith([running], { connection: 'lost' }), false],
    ['nothing comes', replyWith([running], { stalled: true }), false],
  ])('when %s: %s', (_, reply, isTyping) => {
    expect(viewOf(reply).isTyping).toBe(isTyping)
  })
})

describe('a heartbeat', () => {
  const beatOf = (reply: Reply, viewing: Viewing) => saidIn(viewOf(reply, viewing), 'heartbeat')

  test('comes after a minute of silence without edits', () => {
    expect(beatOf(replyWith([running]), { mode: 'sealed', atMs: 59_999 })).toEqual([])
    expect(beatOf(replyWith([running]), { mode: 'sealed', atMs: 60_000 })).toEqual([
      'Still working: bash: npm test \\(1m 00s\\)',
    ])
    expect(beatOf(replyWith([running]), { mode: 'live', atMs: 60_000 })).toEqual([])
  })

  test('says that nothing is known of what the agent does, not that it works', () => {
    expect(beatOf(replyWith([]), { mode: 'sealed', atMs: 60_000 })).toEqual([
      'Still working: nothing new from the agent yet \\(1m 00s\\)',
    ])
  })

  test('is not shown while a person is asked', () => {
    const blocked = replyWith([], { phase: 'blocked', asks: [asks()] })
    expect(beatOf(blocked, { mode: 'sealed', atMs: 60_000 })).toEqual([])
  })
})

describe('a note', () => {
  const compaction = { state: 'done', auto: true, startedAt: beginning, endedAt: beginning + 12_000 } as const

  test('of a compaction says how long it took and how many tokens there were', () => {
    expect(notesOf(replyWith([], { compaction: { ...compaction, tokensBefore: 8140 } }))).toEqual([
      '*Context compacted · 8.1k tokens · 12s*',
    ])
    expect(notesOf(replyWith([], { compaction: { ...compaction, endedAt: undefined } }))).toEqual([
      '*Context compacted*',
    ])
  })

  test.each<[number, readonly string[]]>([
    [59_000, []],
    [60_000, ['*The context is 60% full (60k of 100k tokens): consider compacting it.*']],
    [79_000, ['*The context is 79% full (79k of 100k tokens): consider compacting it.*']],
    [80_000, ['*The context is 80% full (80k of 100k tokens): it will be compacted soon.*']],
  ])('of a context of %i tokens of 100,000', (tokens, notes) => {
    expect(notesOf(settledWith([text('Done.')], using(tokens))).map((said) => said.replaceAll('\\', ''))).toEqual(notes)
  })

  test('of the context is not shown after a compaction, or before the end', () => {
    expect(notesOf(settledWith([text('Done.')], { ...using(90_000), compaction }))).toHaveLength(1)
    expect(notesOf(replyWith([text('Done.')], using(90_000)))).toEqual([])
  })

  test('is in small print where the platform has it', () => {
    const small = (line: string) => `-# ${line}`
    expect(notesOf(settledWith([text('Done.')], using(90_000)), { small })[0]).toMatch(/^-# The context/)
    expect(notesOf(replyWith([], { compaction }), { small })[0]).toMatch(/^-# Context compacted/)
  })

  test('of a compaction is enough for a reply without text', () => {
    const reply = settledWith([], { compaction })
    expect([notesOf(reply).length, endingsOf(reply)]).toEqual([1, []])
    const unfinished = settledWith([], { compaction: { ...compaction, state: 'running', endedAt: undefined } })
    expect(endingsOf(unfinished)).toEqual(['*No answer. Try again.*'])
  })
})

describe('an ending', () => {
  test.each<[Outcome, readonly string[]]>([
    ['completed', []],
    ['stopped', ['*Stopped: the agent did not continue after its last tool calls. Send another message to continue.*']],
    ['aborted', ['*Aborted.*']],
    ['failed', ['⚠️ Failed: no reason given.']],
    ['timed-out', ['⚠️ Timed out: aborted after too long without progress.']],
    [
      'lost',
      ['⚠️ The end of the reply never arrived. The server may have been stopped or restarted. What arrived is above.'],
    ],
  ])('of a reply that %s', (outcome, endings) => {
    const said = endingsOf(settledWith([text('Some words.')], { outcome }))
    expect(said.map((one) => one.replaceAll('\\', ''))).toEqual(endings)
  })

  const aboutKey =
    'The provider rejected the API key. Renew it where the agent runs (for OpenCode with "opencode auth login").'
  test.each<[string, Partial<NonNullable<Reply['error']>>, string]>([
    ['a key', { name: 'ProviderAuthError' }, aboutKey],
    ['a key, by its number', { statusCode: 401 }, aboutKey],
    ['a key, by the name of OpenCode 2', { name: 'provider.auth' }, aboutKey],
    [
      'the output',
      { name: 'MessageOutputLengthError' },
      'The answer exceeded the output limit. Ask for less at a time.',
    ],
    [
      'the model',
      { name: 'provider.no-route' },
      'The model is not available. Choose another one ("opencode models" lists those of OpenCode).',
    ],
    ['the context', { name: 'ContextOverflowError' }, 'The context is full. Compact the session or start a new one.'],
    ['the rate', { statusCode: 429 }, 'The provider is limiting the request rate. Wait, then try again.'],
    ['the provider', { statusCode: 503 }, 'The provider failed. Try again later.'],
    ['what may pass', { retryable: true }, 'Trying again may help.'],
  ])('says what to do about %s', (_, more, cure) => {
    const error = { name: 'APIError', message: 'Error: It broke\n    at main (a.ts:1:2)', raw: undefined, ...more }
    const [said = ''] = endingsOf(settledWith([], { outcome: 'failed', error }))
    expect(said.replaceAll('\\', '')).toBe(`⚠️ Failed: It broke. ${cure}`)
  })

  test.each<[string, Reply, string]>([
    ['tools', settledWith([call('bash', { status: 'completed' })]), 'Done, without text: 1 tool call ran.'],
    ['thoughts', settledWith([thought('Hm.')]), 'No answer: the model only reasoned. Try again.'],
    ['nothing', settledWith([]), 'No answer. Try again.'],
    [
      'sub-agents',
      settledWith([], { children: [{ ...child, reply: settledWith([]) }] }),
      'Done, without text: sub-agents ran.',
    ],
  ])('says so if the reply had no text but %s', (_, reply, said) => {
    expect(endingsOf(reply)[0]?.replaceAll('\\', '')).toBe(`*${said}*`)
  })

  test('is left out for a prompt that wants no reply', () => {
    expect(endingsOf(settledWith([], { messages: [] }))).toEqual([])
  })

  test('says that the model reached its output limit', () => {
    expect(endingsOf(settledWith([text('And so')], { finish: 'length' }))).toEqual([
      "*It was cut off at the model's output limit.*",
    ])
  })

  test('notifies with the number of changed files and the cost, as far as they are known', () => {
    const edits = [text('Done.'), call('edit', { status: 'completed', input: { filePath: 'a.ts' } })]
    const reply = settledWith(edits, {}, 92_000)
    expect(endingsOf(reply)).toEqual(['Done in 1m 32s · 1 file.'])
    const paid = { ...reply, usage: { ...reply.usage, cost: 0.12 } }
    expect(endingsOf(paid).map((said) => said.replaceAll('\\', ''))).toEqual(['Done in 1m 32s · 1 file · $0.12.'])
  })

  test('notifies after half a minute, unless something else did by then', () => {
    const reply = settledWith([text('Done.')], {}, 30_001)
    expect(endingsOf(reply)).toEqual(['Done in 30s.'])
    expect(endingsOf(settledWith([text('Done.')], {}, 30_000))).toEqual([])
    const entry = shownEntry('answer#0', { at: beginning + 30_002, isLoud: true })
    expect(endingsOf(reply, { ledger: { ...emptyLedger, entries: [entry] } })).toEqual([])
    expect(endingsOf(reply, { mode: 'sealed' })).toEqual([])
  })
})

describe('an answer', () => {
  const answersOf = (reply: Reply, viewing?: Viewing) => saidIn(viewOf(reply, viewing), 'answer')

  test('joins the text parts with a blank line', () => {
    expect(answersOf(replyWith([text('One. '), running, text('Two.')]))).toEqual(['One. \n\nTwo.'])
  })

  test.each<[Mode, readonly string[]]>([
    ['live', ['One.\n\nTw']],
    ['append', ['One.\n\n']],
    ['sealed', ['One.']],
    ['final', []],
  ])('that grows, in mode %s', (mode, answers) => {
    expect(answersOf(replyWith([text('One.'), text('Tw', { status: 'open' })]), { mode })).toEqual(answers)
  })

  test('continues below cards posted in between', () => {
    const [one, two] = [text('One.'), text('Two.')]
    const ledger = { ...emptyLedger, breaks: [{ key: 'ask:que_1:0', before: [one.id] }] }
    expect(answersOf(replyWith([one, two]), { ledger })).toEqual(['One.', 'Two.'])
  })

  test('leaves out synthetic, ignored and abandoned parts', () => {
    const parts = [text('A', { synthetic: true }), text('B', { ignored: true }), text('C', { status: 'abandoned' })]
    expect(answersOf(replyWith([...parts, text('D')]))).toEqual(['D'])
  })
})

describe('besides the answer', () => {
  const todos = [
    { content: 'Read', status: 'completed' },
    { content: 'Write *it*', status: 'in_progress' },
    { content: 'Test', status: 'pending' },
  ]

  test('todos are one checklist, shown by the reply that wrote them', () => {
    const reply = replyWith([call('todowrite', { status: 'completed' })], { todos })
    expect(saidIn(viewOf(reply), 'todos')).toEqual(['**To do**\n- ✅ Read\n- ▶️ Write \\*it\\*\n- ▫️ Test'])
    expect(saidIn(viewOf(replyWith([], { todos })), 'todos')).toEqual([])
    expect(saidIn(viewOf(replyWith([], { todos, wroteTodos: true })), 'todos')).toHaveLength(1)
  })

  test('reasoning is shown only if the policy asks for it', () => {
    const reply = replyWith([thought('One.\nTwo.')])
    expect(saidIn(viewOf(reply), 'reasoning')).toEqual([])
    expect(saidIn(viewOf(reply, { policy: { reasoning: true } }), 'reasoning')).toEqual(['> One.\n> Two.'])
  })

  test('a question shows its options', () => {
    const ledger = { ...emptyLedger, asks: { que_1: { answers: [], picked: [] } } }
    const question = questionOf({ options: [{ label: 'Red', description: 'like fire' }] })
    expect(saidIn(viewOf(replyWith([], { asks: [asks([question])] }), { ledger }), 'ask')).toEqual([
      '❓ **Colour**\n\nWhich one?\n\n1. **Red** – like fire',
    ])
  })
})
