import { type Ask, emptyReply, type FileChange, type Message, type Part, type Reply, type ToolPart } from '@reply/core'
import { type PageRun, toPageRun } from '../src/index.ts'

/** Runs as an agent would make them, with all kinds of parts: for pictures, and for tests of the page. */

const began = Date.UTC(2026, 10, 27, 14, 3, 11)
/** How late it is in the runs that go on. */
export const moment = began + 42_000
const at = (seconds: number): number => began + seconds * 1000

let count = 0
const partID = (): string => `prt_${String(++count).padStart(4, '0')}`

type Kind<T extends Part['type']> = Extract<Part, { type: T }>

export function textPart(text: string, more: Partial<Kind<'text'>> = {}): Part {
  return { id: partID(), messageID: 'msg_2', raw: {}, type: 'text', status: 'sealed', text, ...more }
}

export function thoughtPart(text: string, more: Partial<Kind<'reasoning'>> = {}): Part {
  return { id: partID(), messageID: 'msg_2', raw: {}, type: 'reasoning', status: 'sealed', text, ...more }
}

/** A call that took from one second of the run to another. Without an end, it runs. */
export function callPart(
  tool: string,
  input: ToolPart['state']['input'],
  [from, to]: readonly [number, number?],
  state: Partial<ToolPart['state']> = {},
  callID = `call_${count + 1}`,
): ToolPart {
  const isOver = to !== undefined
  return {
    ...{ id: partID(), messageID: 'msg_2', raw: {}, type: 'tool', tool, callID, status: isOver ? 'sealed' : 'open' },
    state: {
      status: isOver ? 'completed' : 'running',
      input,
      startedAt: at(from),
      endedAt: isOver ? at(to) : undefined,
      ...state,
    },
  }
}

export function messageOf(id: string, [from, to]: readonly [number, number?], parts: readonly Part[]): Message {
  return { id, createdAt: at(from), completedAt: to === undefined ? undefined : at(to), parts, raw: {} }
}

export function replyOf(messages: readonly Message[], more: Partial<Reply> = {}): Reply {
  return {
    ...emptyReply('ses_4f1c'),
    directory: '/home/ann/shop',
    title: 'Fix the discount',
    promptIDs: ['msg_1'],
    prompt: promptOf('The discount is taken off before tax. It should be after. Please fix it, and add a test.'),
    agent: 'build',
    model: { providerID: 'anthropic', modelID: 'claude-sonnet-5' },
    phase: 'working',
    messages,
    startedAt: at(0),
    usage: usageOf(3, 0.0421),
    ...more,
  }
}

export function promptOf(text: string, files: readonly string[] = []): NonNullable<Reply['prompt']> {
  return { text, files, parts: [{ type: 'text', id: 'prt_0', text }] }
}

function usageOf(steps: number, cost: number): Reply['usage'] {
  return {
    ...{ input: 4210, output: 1873, reasoning: 412, cacheRead: 38_900, cacheWrite: 2100, cost, steps },
    ...{ contextTokens: 47_000, contextLimit: 200_000 },
  }
}

export function settledAt(seconds: number, reply: Reply, more: Partial<Reply> = {}): Reply {
  return { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop', settledAt: at(seconds), ...more }
}

/** A permission of the call with this id. */
export function permissionOf(
  call: Pick<ToolPart, 'callID' | 'tool' | 'state'>,
  more: Partial<Extract<Ask, { type: 'permission' }>> = {},
): Extract<Ask, { type: 'permission' }> {
  const { command } = call.state.input
  const pattern = typeof command === 'string' ? command : '*'
  return {
    ...{ type: 'permission', requestID: `per_${call.callID}`, sessionID: 'ses_4f1c', path: ['ses_4f1c'] },
    ...{ directory: '/home/ann/shop', status: 'pending', permission: call.tool, patterns: [pattern] },
    ...{ always: [], title: pattern, metadata: {}, callID: call.callID, messageID: 'msg_2', askedAt: at(20) },
    ...{ call: { tool: call.tool, input: call.state.input } },
    ...more,
  }
}

const patch = `@@ -12,9 +12,10 @@
 const taxRate = 0.2
 
 /** The price of a cart, with tax. */
-export function total(cart: Cart, discount: number): number {
-  const net = sum(cart.items) - discount
-  return round(net * (1 + taxRate))
+export function total(cart: Cart, discount = 0): number {
+  const net = sum(cart.items)
+  const gross = net * (1 + taxRate)
+  return round(gross - discount)
 }
 
 function sum(items: readonly Item[]): number {
@@ -40,3 +41,7 @@
 function round(amount: number): number {
   return Math.round(amount * 100) / 100
 }
+
+export function isFree(cart: Cart): boolean {
+  return total(cart) === 0
+}
`
const testPatch = `@@ -0,0 +1,7 @@
+import { expect, test } from 'vitest'
+import { total } from './cart.ts'
+
+test('a discount is taken off after tax', () => {
+  const cart = { items: [{ price: 100, count: 1 }] }
+  expect(total(cart, 10)).toBe(110)
+})
`
export const fileChanges: readonly FileChange[] = [
  { path: 'src/cart.ts', kind: 'modified', additions: 8, deletions: 3, patches: [patch] },
  { path: 'test/cart.test.ts', kind: 'added', additions: 7, deletions: 0, patches: [testPatch] },
  { path: 'docs/prices.md', from: 'docs/price.md', kind: 'renamed', additions: 0, deletions: 0, patches: [] },
  { path: 'assets/logo.png', kind: 'modified', isBinary: true, patches: [] },
  { path: 'src/old-cart.ts', kind: 'deleted', additions: 0, deletions: 1, patches: ['@@ -1,1 +0,0 @@\n-export {}\n'] },
]

const answer = `The discount is now taken off **after** tax. \`total()\` in [src/cart.ts](https://example.org/shop/src/cart.ts) was the only place that mixed the two.

## What changed

1. \`total()\` adds the tax first, and then takes off the discount.
2. There is a test for it.

| cart | discount | before | now |
|:-----|---------:|-------:|----:|
| 100  |       10 | 108.00 | 110.00 |
| 250  |       25 | 270.00 | 275.00 |

\`\`\`ts
export function total(cart: Cart, discount = 0): number {
  const gross = sum(cart.items) * (1 + taxRate)
  return round(gross - discount)
}
\`\`\`

- [x] Fixed
- [x] Tested
- [ ] The docs still show the old numbers

> A discount above the price makes the total negative, as before. Say if it should stop at zero.`

const testOutput = `
 RUN  v4.1.12 /home/ann/shop

 ✓ test/items.test.ts (4 tests) 6ms
 ✓ test/cart.test.ts (3 tests) 9ms
   ✓ sums up the items
   ✓ adds the tax
   ✓ a discount is taken off after tax

 Test Files  2 passed (2)
      Tests  7 passed (7)
`

const todos: Reply['todos'] = [
  { content: 'Find where the discount is taken off', status: 'completed', priority: 'high' },
  { content: 'Take it off after tax', status: 'completed', priority: 'high' },
  { content: 'Add a test', status: 'in_progress', priority: 'medium' },
  { content: 'Update the docs', status: 'pending', priority: 'low' },
]

const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A run with all kinds of parts, which ended. */
export function wholeRun(): PageRun {
  count = 0
  const edit = callPart('edit', { filePath: '/home/ann/shop/src/cart.ts', oldString: 'a', newString: 'b' }, [19, 27], {
    title: 'src/cart.ts',
    metadata: { diff: `--- src/cart.ts\n+++ src/cart.ts\n${patch}` },
  })
  const task = callPart(
    'task',
    { description: 'Look for other places', prompt: 'Look', subagent_type: 'explore' },
    [28, 41],
  )
  const asked = callPart('question', {}, [4, 17], { title: 'Asked 1 question' })
  const explored = settledAt(
    41,
    replyOf(
      [
        messageOf(
          'msg_c1',
          [29, 34],
          [
            callPart('grep', { pattern: 'discount', path: 'src' }, [30, 31], {
              output: 'src/cart.ts:18\nsrc/cart.ts:21',
            }),
          ],
        ),
        messageOf('msg_c2', [34, 41], [textPart('No other file takes off a discount.')]),
      ],
      {
        sessionID: 'ses_child',
        title: 'Look for other places',
        startedAt: at(28),
        usage: usageOf(2, 0.004),
        prompt: promptOf('Look for other places that take off a discount.'),
      },
    ),
  )
  const messages = [
    messageOf(
      'msg_2',
      [1, 18],
      [
        thoughtPart(
          'The total is computed in **cart.ts**. I read it first, and ask which order is meant, because both are common.',
        ),
        callPart('read', { filePath: '/home/ann/shop/src/cart.ts' }, [2, 2.2], {
          title: 'src/cart.ts',
          output: '<file>\n00001| export const taxRate = 0.2\n</file>',
        }),
        asked,
      ],
    ),
    messageOf(
      'msg_3',
      [18, 46],
      [
        textPart('I change `total()`, and let a sub-agent look for other places meanwhile.'),
        edit,
        task,
        callPart('todowrite', { todos }, [41, 41.1], { title: '2 todos' }),
        callPart('bash', { command: 'npm test', description: 'Run the tests' }, [42, 46], {
          title: 'Run the tests',
          output: testOutput,
          metadata: { exit: 0 },
        }),
        callPart('bash', { command: 'npm run lint -- --fix && git diff --stat' }, [46, 46.4], {
          title: 'npm run lint -- --fix && git diff --stat',
          output: 'sh: eslint: not found',
          metadata: { exit: 127 },
        }),
      ],
    ),
    messageOf(
      'msg_4',
      [46, 58],
      [
        textPart(answer),
        {
          id: partID(),
          messageID: 'msg_4',
          raw: {},
          type: 'file',
          status: 'sealed',
          mime: 'image/png',
          url: picture,
          filename: 'prices.png',
          size: 4210,
          caption: 'Prices before and after',
        },
      ],
    ),
  ]
  const reply = replyOf(messages, {
    todos,
    changes: { msg_1: fileChanges },
    children: [
      { callID: task.callID, agent: 'explore', title: 'Look for other places', background: false, reply: explored },
    ],
    promptIDs: ['msg_1', 'msg_5'],
    prompt: promptOf('The discount is taken off before tax. It should be after. Please fix it, and add a test.', [
      'invoice.pdf',
    ]),
    joinedPrompts: { msg_5: promptOf('Please keep the name of the function.') },
    asks: [
      {
        ...{
          type: 'question',
          requestID: 'que_1',
          sessionID: 'ses_4f1c',
          path: ['ses_4f1c'],
          directory: undefined,
          callID: asked.callID,
        },
        ...{ status: 'answered', askedAt: at(4), closedAt: at(17), answers: [['After tax']] },
        questions: [
          {
            header: 'Discount',
            question: 'Before or after tax?',
            multiple: false,
            custom: true,
            options: [{ label: 'After tax', description: '' }],
          },
        ],
      },
      permissionOf(edit, {
        status: 'answered',
        reply: 'once',
        closedAt: at(26),
        permission: 'edit',
        title: 'src/cart.ts',
      }),
    ],
  })
  return toPageRun(settledAt(58, reply), { que_1: { by: 'Ann' }, [`per_${edit.callID}`]: { by: 'Ben' } })
}

/** A run that waits for a permission of a shell command, and for one of an edit by its sub-agent. */
export function blockedRun(): PageRun {
  count = 500
  const push = callPart(
    'bash',
    { command: 'git push --force-with-lease origin fix/discount', description: 'Push the branch' },
    [30],
  )
  const task = callPart('task', { description: 'Update the docs', prompt: 'Update', subagent_type: 'writer' }, [20])
  const edit = callPart(
    'edit',
    { filePath: '/home/ann/shop/docs/prices.md', oldString: 'The total is 108.00.', newString: 'The total is 110.00.' },
    [24],
  )
  const child = replyOf([messageOf('msg_c', [21], [edit])], {
    sessionID: 'ses_child',
    phase: 'blocked',
    startedAt: at(21),
    prompt: promptOf('Update the docs.'),
  })
  const reply = replyOf([messageOf('msg_2', [1], [textPart('The branch is ready. I push it.'), task, push])], {
    title: 'Push the fix, and update the docs',
    phase: 'blocked',
    todos,
    children: [{ callID: task.callID, agent: 'writer', title: 'Update the docs', background: false, reply: child }],
    asks: [
      permissionOf(edit, {
        sessionID: 'ses_child',
        path: ['ses_4f1c', 'ses_child'],
        patterns: ['docs/prices.md'],
        always: ['*'],
        title: 'docs/prices.md',
      }),
      permissionOf(push, { always: ['git push --force-with-lease origin fix/discount'] }),
    ],
  })
  return toPageRun(reply)
}

/** A run that waits for answers to two questions. */
export function questionRun(): PageRun {
  count = 700
  const asked = callPart('question', {}, [4])
  const reply = replyOf([messageOf('msg_2', [1], [textPart('Two things are open.'), asked])], {
    phase: 'blocked',
    asks: [
      {
        ...{
          type: 'question',
          requestID: 'que_1',
          sessionID: 'ses_4f1c',
          path: ['ses_4f1c'],
          directory: undefined,
          callID: asked.callID,
          status: 'pending',
        },
        questions: [
          {
            ...{
              header: 'Discount',
              question: 'Should the discount be taken off **before** or **after** tax?',
              multiple: false,
              custom: true,
            },
            options: [
              { label: 'After tax', description: 'As in the invoice. Totals get higher.' },
              { label: 'Before tax', description: 'As it is now.' },
            ],
          },
          {
            ...{ header: 'Tests', question: 'Which tests should I add?', multiple: true, custom: false },
            options: [
              { label: 'Unit', description: '' },
              { label: 'End to end', description: 'Takes a minute more in CI.' },
            ],
          },
        ],
      },
    ],
  })
  return toPageRun(reply)
}

/** A run at work: it thinks, a command runs, and the provider failed a moment ago. */
export function workingRun(): PageRun {
  count = 800
  const reply = replyOf(
    [
      messageOf(
        'msg_2',
        [1, 9],
        [
          textPart('I look at the tests first.'),
          callPart('glob', { pattern: '**/*.test.ts' }, [2, 2.4], { output: 'test/cart.test.ts' }),
        ],
      ),
      messageOf(
        'msg_3',
        [9],
        [
          thoughtPart('The test for the discount is missing.\nI run those that exist', { status: 'open' }),
          callPart('bash', { command: 'npm test -- --run' }, [11], {
            metadata: { output: ' RUN  v4.1.12\n\n ✓ test/items.test.ts' },
          }),
          textPart('While they run: the discount is ', { status: 'open', holes: [12] }),
        ],
      ),
    ],
    { retry: { attempt: 2, message: 'Overloaded', nextAt: at(40) }, phase: 'retrying', stalled: true, todos },
  )
  return toPageRun(reply)
}

/** A run that failed, after a compaction and a step that was tried again. */
export function failedRun(): PageRun {
  count = 900
  const messages = [
    messageOf(
      'msg_2',
      [1, 9],
      [
        textPart('This was said before a retry.', { status: 'abandoned' }),
        {
          id: partID(),
          messageID: 'msg_2',
          raw: {},
          type: 'retry',
          status: 'sealed',
          attempt: 1,
          error: { name: 'APIError', message: 'Overloaded', raw: {} },
        },
        callPart('webfetch', { url: 'https://example.org/prices' }, [3, 4], {
          status: 'error',
          error: 'The user rejected permission to use this tool with the following feedback: not this site',
        }),
        {
          id: partID(),
          messageID: 'msg_2',
          raw: {},
          type: 'patch',
          status: 'sealed',
          hash: '1f',
          files: ['/home/ann/shop/src/cart.ts'],
        },
      ],
    ),
  ]
  const failure = {
    name: 'ProviderAuthError',
    message: 'The key was refused.\n\nRequest 71f0',
    statusCode: 401,
    raw: {},
  }
  const reply = replyOf(messages, {
    title: undefined,
    error: failure,
    compaction: {
      state: 'done',
      auto: true,
      afterMessageID: 'msg_2',
      tokensBefore: 182_000,
      startedAt: at(9),
      endedAt: at(12),
    },
  })
  return toPageRun(settledAt(20, reply, { outcome: 'failed', finish: undefined }))
}

/** A long run: so many parts in one message. */
export function longReply(parts: number, more: Partial<Reply> = {}): Reply {
  const all = Array.from({ length: parts }, (_, index): Part => {
    const place = { id: `prt_long_${index}`, messageID: 'msg_2', raw: {} } as const
    if (index % 2 === 0)
      return {
        ...place,
        type: 'text',
        status: 'sealed',
        text: `Part ${index} of a long run, with **some** words to fill a line or two of the page.`,
      }
    const state = {
      status: 'completed',
      input: { filePath: `/home/ann/shop/src/file-${index}.ts` },
      output: 'ok',
    } as const
    return { ...place, type: 'tool', tool: 'read', callID: `call_long_${index}`, status: 'sealed', state }
  })
  return replyOf([messageOf('msg_2', [1], all)], more)
}
