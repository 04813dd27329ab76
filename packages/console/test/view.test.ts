import { expect, test } from 'vitest'
import { plain } from '../src/format/styled-line.ts'
import { createCommitted, layout, splitCommittable } from '../src/view/blocks.ts'
import { view } from '../src/view/view.ts'
import { picture } from './fixture/picture.ts'
import { childOf, permission, question, reasoning, replyOf, START, settledOf, text, tool } from './fixture/reply.ts'

test('text, calls and the outcome, from top to bottom', () => {
  const reply = settledOf([
    text('a', '# Hi\n\nI look.'),
    tool('b', 'bash', { title: 'npm test' }),
    tool('c', 'read'),
    text('d', 'Done.'),
  ])
  expect(picture(reply)).toEqual([
    'Hi',
    '',
    'I look.',
    '',
    '✓ bash npm test 1.2s',
    '✓ read 1.2s',
    '',
    'Done.',
    '',
    '✓ completed · 12s',
  ])
})

test('each result of a call has its own mark', () => {
  const denied = permission({ status: 'rejected', callID: 'call_d' })
  const parts = [
    tool('a', 'bash', { status: 'error', error: 'exit\n1' }),
    tool('b', 'bash', { status: 'error', interrupted: true, title: 'sleep' }),
    tool('c', 'bash', { metadata: { exit: 2 } }),
    tool('d', 'bash', { status: 'error', error: 'The user rejected it' }),
    tool('e', 'mcp__github__search', { status: 'running', input: { query: 'x' } }),
  ]
  expect(picture(replyOf(parts, { asks: [denied] }))).toEqual([
    '✗ bash · exit 1 1.2s',
    '■ bash sleep · interrupted 1.2s',
    '✗ bash · exit 2 1.2s',
    '⊘ rejected: bash: npm publish',
    '⊘ bash · rejected 1.2s',
    '⠹ search x 5s',
  ])
})

test.each([
  [
    'told why',
    'The user rejected permission to use this specific tool call with the following feedback: Not\non Sundays.',
  ],
  ['told why by 1.2', 'PermissionCorrectedError({"feedback":"Not\\non Sundays.","_tag":"PermissionCorrectedError"})'],
])('a call rejected by a person, %s, shows the reason and how long it waited', (_, error) => {
  const denied = permission({ status: 'rejected', callID: 'call_a', askedAt: START, closedAt: START + 3000 })
  const call = tool('a', 'bash', { status: 'error', error, endedAt: START + 5 })
  expect(picture(replyOf([call], { asks: [denied] }))).toContain('⊘ bash · rejected: Not on Sundays. 3.0s')
})

test.each([
  'Error: The user has specified a rule which prevents you from using this specific tool call. Here are … [{"permission"',
  'PermissionDeniedError({"ruleset":[]})',
])('a call that a rule forbids says so without the rules: %s', (error) => {
  expect(picture(replyOf([tool('a', 'bash', { status: 'error', error })]))).toEqual(['⊘ bash · denied by a rule 1.2s'])
})

test('paths inside the project are relative', () => {
  const reply = replyOf([tool('a', 'read', { title: '/home/me/app/src/a.ts' })], { directory: '/home/me/app' })
  expect(picture(reply)).toEqual(['✓ read src/a.ts 1.2s'])
})

test('a sub-agent has a title, its calls below it, and an end, at any depth', () => {
  const leaf = settledOf([tool('l', 'read')], { sessionID: 'ses_leaf' })
  const middle = replyOf([tool('m', 'task')], {
    sessionID: 'ses_mid',
    children: [childOf('call_m', leaf, { title: 'Deep' })],
  })
  const root = replyOf([tool('r', 'task', { status: 'running' })], { children: [childOf('call_r', middle)] })
  expect(picture(root)).toEqual([
    '▸ general Explore the code',
    '  ▸ general Deep',
    '    ✓ read 1.2s',
    '    ✓ done · 1 call · 12s',
    '  ⠹ working · 1 call · 5s',
  ])
})

test('a failed sub-agent says why', () => {
  const failed = settledOf([], {
    sessionID: 'ses_c',
    outcome: 'failed',
    error: { name: 'APIError', message: 'no\nkey', raw: 0 },
  })
  const root = replyOf([tool('r', 'task')], { children: [childOf('call_r', failed)] })
  expect(picture(root)).toEqual(['▸ general Explore the code', '  ✗ failed: no key · 12s'])
})

test('reasoning is shown on demand', () => {
  const reply = replyOf([reasoning('r', 'Hm.\n\nYes.'), text('t', 'Yes.')])
  expect(picture(reply)).toEqual(['Yes.'])
  expect(picture(reply, { reasoning: true })).toEqual(['│ Hm.', '', '│ Yes.', '', 'Yes.'])
})

test('synthetic, ignored and abandoned texts are left out', () => {
  const hidden = { ...text('s', 'hidden'), synthetic: true as const }
  expect(picture(replyOf([hidden, text('a', 'gone', 'abandoned'), text('w', ' \n ')]))).toEqual([])
})

test('an answered question shows its answer instead of its call', () => {
  const asked = question({ status: 'answered', callID: 'call_q', answers: [['Postgres', 'fast']] })
  expect(picture(replyOf([tool('q', 'question')], { asks: [asked] }))).toEqual(['✓ Which database? → Postgres, fast'])
})

test('a log prints an ask at once, even while a call above it runs', () => {
  const reply = replyOf([tool('a', 'bash', { status: 'running' })], { asks: [question()] })
  const blocks = view(reply, {
    now: START,
    width: Number.POSITIVE_INFINITY,
    live: false,
    reasoning: false,
    prompt: false,
    delays: [],
    shown: createCommitted(),
  })
  expect(layout(splitCommittable(blocks, false).commit, undefined).rows.map(plain)).toEqual([
    '? Database',
    '  Which database?',
    '  1. Postgres — a server',
    '  2. SQLite — a file',
    '  3. Redis',
    '  or answer in your own words',
  ])
})

test('the checklist is there once, at the end, and only in a run that worked on it', () => {
  const todos = [
    { content: 'Look', status: 'completed' },
    { content: 'Tell', status: 'in_progress' },
    { content: 'Rest', status: 'pending' },
    { content: 'Wait', status: 'cancelled' },
  ]
  const parts = [tool('t', 'todowrite'), text('a', 'So.')]
  const list = ['[x] Look', '[>] Tell', '[ ] Rest', '[-] Wait']
  expect(picture(replyOf(parts, { todos }))).toEqual(['So.'])
  expect(picture(settledOf(parts, { todos }))).toEqual(['So.', '', ...list, '', '✓ completed · 12s'])
  expect(picture(settledOf([text('a', 'So.')], { todos }))).toEqual(['So.', '', '✓ completed · 12s'])
})

test('a compaction stands between what was before and after it', () => {
  const compaction = {
    state: 'done' as const,
    auto: true,
    tokensBefore: 162_000,
    startedAt: START + 1,
    endedAt: START + 8001,
  }
  const [one] = replyOf([text('a', 'Before.')]).messages
  // The server's clock, which messages have, may be behind.
  const [two] = replyOf([text('b', 'After.')]).messages
  const messages = [one, two && { ...two, id: 'msg_2', createdAt: START - 60_000 }].filter(
    (message) => message !== undefined,
  )
  const shown = (more: object) => picture(replyOf([], { messages, compaction: { ...compaction, ...more } }))
  expect(shown({ afterMessageID: one?.id })).toEqual([
    'Before.',
    '',
    '≡ context compacted · 162k tokens · 8.0s',
    '',
    'After.',
  ])
  expect(shown({ afterMessageID: undefined })[0]).toContain('context compacted')
  expect(shown({ afterMessageID: 'msg_2' }).at(-1)).toContain('context compacted')
})

test('text that was rewritten after it was shown gets a note, and the new text follows', () => {
  const shown = createCommitted()
  for (const block of view(replyOf([text('a', 'One.\n\nTwo', 'open')]), {
    now: 0,
    width: 60,
    live: true,
    reasoning: false,
    prompt: false,
    delays: [],
    shown,
  })) {
    if (block.final) shown.add(block)
  }
  expect(picture(replyOf([text('a', 'One.\n\nTwo.')]), { shown })).toEqual(['Two.'])
  expect(picture(replyOf([text('a', 'Other.')]), { shown })).toEqual([
    '↺ the text above has changed: the new version follows',
    '',
    'Other.',
  ])
  expect(picture(replyOf([text('a', 'One.', 'abandoned'), text('b', 'One. All.')]), { shown })).toEqual([
    '↺ the model was interrupted and started over: ignore its unfinished text above',
    '',
    'One. All.',
  ])
  expect(picture(replyOf([]), { shown })).toEqual(['↺ the text above was removed from the session'])
})

test('an edit shows how many lines it changed', () => {
  const diff = 'Index: a\n=====\n--- a\n+++ a\n@@ -1,2 +1,3 @@\n same\n-old\n+new\n+more\n'
  expect(picture(replyOf([tool('a', 'edit', { title: 'a.ts', metadata: { diff } })]))).toEqual([
    '✓ edit a.ts +2 −1 1.2s',
  ])
})

test('files have their name, size, caption and address, those of a call below it', () => {
  const attachments = [
    { id: 'a.file.0', mime: 'image/png', url: 'data:image/png;base64,AAAA', filename: 'dot.png', size: 3 },
    { id: 'a.file.1', mime: 'text/plain', url: 'file:///project/a%20b.txt', caption: 'All\nof it' },
  ]
  const own = { id: 'f', messageID: 'msg_1', status: 'sealed', type: 'file', raw: 0 } as const
  const parts = [
    tool('a', 'read', { title: 'dot.png', attachments }),
    { ...own, mime: 'application/zip', url: 'https://example.com/all.zip', size: 1_234_567 },
    { ...own, id: 'g', mime: 'x', url: 'data:,', status: 'abandoned' } as const,
  ]
  expect(picture(replyOf(parts))).toEqual([
    '✓ read dot.png 1.2s',
    '+ dot.png · 3 B',
    '+ a b.txt · All of it · file:///project/a%20b.txt',
    '+ all.zip · 1.3 MB · https://example.com/all.zip',
  ])
  expect(picture(replyOf(parts), { width: 30 }).slice(-2)).toEqual([
    '+ all.zip · 1.3 MB ·',
    '  https://example.com/all.zip',
  ])
})
