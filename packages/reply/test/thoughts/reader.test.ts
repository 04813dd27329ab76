import { emptyReply, type Reply, type ReplyEvent, reduce } from '@reply/core'
import { createThoughtReader, type Thought } from '@reply/core/thoughts'
import { describe, expect, test } from 'vitest'
import { busy, delta, message, part, reasoning, root, settle, text, tool } from '../make.ts'

/** The thoughts that these events make, event by event. */
function thoughtsBy(...events: readonly ReplyEvent[]): readonly (readonly Thought[])[] {
  const read = createThoughtReader()
  let reply: Reply = emptyReply(root)
  return events.map((event) => {
    if (!('sessionID' in event)) return []
    const step = reduce(reply, event)
    reply = step.reply
    return step.changes.flatMap(read)
  })
}

/** The same in one list, of a reply with one message. */
function thoughtsOf(...events: readonly ReplyEvent[]): readonly Thought[] {
  return thoughtsBy(message('m1'), ...events).flat()
}

describe('a text', () => {
  test('comes in pieces, without white space that may still be trimmed', () => {
    const events = [
      text('m1', ''),
      delta('m1', 'Hi '),
      delta('m1', 'there'),
      text('m1', 'Hi there\n', { status: 'sealed' }),
    ]
    expect(thoughtsOf(...events)).toEqual([
      { type: 'message', text: 'Hi' },
      { type: 'message', text: ' there' },
      { type: 'message', text: '\n' },
    ])
  })

  test('of the reasoning is a thought, joined by blank lines apart from the answer', () => {
    const second = { id: 'm1.r2' }
    expect(
      thoughtsOf(
        reasoning('m1', 'Hm.', { status: 'sealed' }),
        text('m1', 'Yes', { status: 'sealed' }),
        reasoning('m1', 'So.', { ...second, status: 'sealed' }),
      ),
    ).toEqual([
      { type: 'thought', text: 'Hm.' },
      { type: 'message', text: 'Yes' },
      { type: 'thought', text: '\n\nSo.' },
    ])
  })

  test('waits for the text before it to close', () => {
    const second = { id: 'm1.t2' }
    const [, , waiting, closing] = thoughtsBy(
      message('m1'),
      text('m1', 'One'),
      text('m1', 'Two', second),
      text('m1', 'One.', { status: 'sealed' }),
    )
    expect(waiting).toEqual([])
    expect(closing?.map((thought) => 'text' in thought && thought.text).join('')).toBe('.\n\nTwo')
  })

  test('that the server replaces follows anew after a blank line', () => {
    const events = [text('m1', 'Red'), text('m1', 'Blue', { status: 'sealed' })]
    expect(thoughtsOf(...events)).toEqual([
      { type: 'message', text: 'Red' },
      { type: 'message', text: '\n\nBlue' },
    ])
  })

  test('that the server wrote, or hides, is not the agent’s', () => {
    const hidden = [text('m1', 'Seen.', { synthetic: true }), text('m1', 'No.', { id: 'm1.i', ignored: true })]
    expect(thoughtsOf(...hidden)).toEqual([])
  })
})

describe('a tool call', () => {
  const input = { command: 'npm\n test' }

  test('starts when its input is complete, with what it works on in one line', () => {
    expect(thoughtsOf(tool('m1', { status: 'pending' }))).toEqual([])
    expect(thoughtsOf(tool('m1', { status: 'pending' }), tool('m1', { input }))).toEqual([
      { type: 'tool_start', id: 'm1.call', title: 'npm test', kind: 'execute' },
      { type: 'tool_update', id: 'm1.call', status: 'in_progress' },
    ])
  })

  test('starts at once if its source gives it a title', () => {
    const titled = tool('m1', { tool: 'Look', status: 'pending', title: 'Reads notes', metadata: { kind: 'read' } })
    expect(thoughtsOf(titled)).toEqual([{ type: 'tool_start', id: 'm1.call', title: 'Reads notes', kind: 'read' }])
  })

  test('shows its output as it grows, and nothing that it has shown', () => {
    const running = tool('m1', { input, metadata: { output: 'a' } })
    const again = tool('m1', { input, metadata: { output: 'a', noise: 1 } })
    const end = tool('m1', { input, status: 'completed', output: 'a\nb' })
    const shown = (text: string) => [{ type: 'content', content: { type: 'text', text } }]
    expect(thoughtsBy(message('m1'), running, again, end).slice(1)).toEqual([
      [
        { type: 'tool_start', id: 'm1.call', title: 'npm test', kind: 'execute' },
        { type: 'tool_update', id: 'm1.call', status: 'in_progress', content: shown('a') },
      ],
      [],
      [
        { type: 'tool_update', id: 'm1.call', status: 'completed', content: shown('a\nb') },
        { type: 'tool_done', id: 'm1.call', status: 'completed' },
      ],
    ])
  })

  test('that arrives completed starts and is done', () => {
    expect(thoughtsOf(tool('m1', { status: 'completed', output: '' }))).toEqual([
      { type: 'tool_start', id: 'm1.call', title: 'bash', kind: 'execute' },
      { type: 'tool_done', id: 'm1.call', status: 'completed' },
    ])
  })

  test('that failed says why', () => {
    const failed = thoughtsOf(tool('m1', { status: 'error', error: 'No such file' }))
    expect(failed.slice(1)).toEqual([
      {
        type: 'tool_update',
        id: 'm1.call',
        status: 'failed',
        content: [{ type: 'content', content: { type: 'text', text: 'No such file' } }],
      },
      { type: 'tool_done', id: 'm1.call', status: 'failed' },
    ])
  })

  test('that still runs when the reply ends has failed', () => {
    expect(thoughtsOf(tool('m1', { input }), settle('none')).at(-1)).toEqual({
      type: 'tool_done',
      id: 'm1.call',
      status: 'failed',
    })
  })

  test.each([
    ['edit', { filePath: 'a.ts', oldString: 'x', newString: 'y' }, { path: 'a.ts', oldText: 'x', newText: 'y' }],
    ['edit', { path: 'a.ts', oldString: 'x', newString: 'y' }, { path: 'a.ts', oldText: 'x', newText: 'y' }],
    ['Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y' }, { path: 'a.ts', oldText: 'x', newText: 'y' }],
    ['write', { filePath: 'a.ts', content: 'y' }, { path: 'a.ts', newText: 'y' }],
  ])('of %s with %j shows its change of the file', (name, input, diff) => {
    const update = thoughtsOf(tool('m1', { tool: name, input })).find(({ type }) => type === 'tool_update')
    expect(update).toMatchObject({ content: [{ type: 'diff', ...diff }] })
  })

  test.each([
    ['bash', 'execute'],
    ['shell', 'execute'],
    ['Read', 'read'],
    ['write', 'edit'],
    ['grep', 'search'],
    ['webfetch', 'fetch'],
    ['subagent', 'think'],
    ['ExitPlanMode', 'switch_mode'],
    ['frobnicate', 'other'],
  ])('of %s has the kind %s', (name, kind) => {
    expect(thoughtsOf(tool('m1', { tool: name }))[0]).toMatchObject({ type: 'tool_start', kind })
  })

  test('has the kind of its name if its source says "other"', () => {
    // OpenCode's checklist as its own protocol and as ACP tell it.
    for (const metadata of [{}, { kind: 'other' }])
      expect(thoughtsOf(tool('m1', { tool: 'todowrite', metadata }))[0]).toMatchObject({ kind: 'think' })
  })

  test('shows the content that an ACP agent gives it, and leaves out what is malformed', () => {
    const content = [
      { type: 'content', content: { type: 'text', text: 'done' } },
      { type: 'content', content: { type: 'image', data: 'AA==', mimeType: 'image/png' } },
      { type: 'content', content: { type: 'resource_link', uri: 'file:///a', name: 'a', size: 3 } },
      { type: 'diff', path: 'a', oldText: null, newText: 'b' },
      { type: 'terminal', terminalId: 't1' },
      { type: 'content', content: { type: 'image' } },
      { type: 'hologram' },
      null,
    ]
    const metadata = { kind: 'fetch', content }
    const update = thoughtsOf(tool('m1', { metadata })).find(({ type }) => type === 'tool_update')
    expect(update && 'content' in update && update.content).toEqual([
      content[0],
      content[1],
      { type: 'content', content: { type: 'resource_link', uri: 'file:///a', name: 'a' } },
      { type: 'diff', path: 'a', newText: 'b' },
      content[4],
    ])
  })

  test('that the server takes back is done', () => {
    const gone: ReplyEvent = { type: 'part-removed', at: 1, sessionID: root, messageID: 'm1', partID: 'm1.call' }
    expect(thoughtsOf(tool('m1', { input }), gone).at(-1)).toEqual({
      type: 'tool_done',
      id: 'm1.call',
      status: 'failed',
    })
  })
})

test('a plan has three states and three priorities', () => {
  const items = [
    { content: 'a', status: 'completed', priority: 'high' },
    { content: 'b', status: 'cancelled', priority: 'low' },
    { content: 'c', status: 'later', priority: 'urgent' },
    { content: 'd', status: 'in_progress' },
  ]
  expect(thoughtsOf({ type: 'todos', at: 1, sessionID: root, todos: items })).toEqual([
    {
      type: 'plan',
      entries: [
        { content: 'a', status: 'completed', priority: 'high' },
        { content: 'b', status: 'completed', priority: 'low' },
        { content: 'c', status: 'pending', priority: 'medium' },
        { content: 'd', status: 'in_progress', priority: 'medium' },
      ],
    },
  ])
})

test('plumbing makes no event', () => {
  const file = {
    id: 'm1.f',
    messageID: 'm1',
    raw: undefined,
    status: 'sealed',
    mime: 'text/plain',
    url: 'file:///a',
  } as const
  expect(thoughtsOf(busy(), part({ ...file, type: 'file' }), settle('none'))).toEqual([])
})
