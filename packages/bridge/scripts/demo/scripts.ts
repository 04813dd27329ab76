import { callTool, type ModelAnswer, type Scripts, sayText, scenarioToken, think } from '@reply/testing'
import type { Suggestion } from './view.ts'

/** The prompts that the page offers. */
export const suggestions: readonly Suggestion[] = [
  { label: 'Explain the project', prompt: 'Please explain what this project does.' },
  { label: 'Run the tests', prompt: 'Please run the tests.' },
  { label: 'Fix the discount', prompt: 'The discount is ignored. Please fix it.' },
  { label: 'Review with a sub-agent', prompt: 'Please have a sub-agent review the cart.' },
  { label: 'A long answer', prompt: 'Please tell me a long story. I may stop you.' },
  { label: 'Answer with raw HTML', prompt: 'Please answer with raw HTML.' },
]

/** The names of scripts, and the patterns of the prompts that they answer. The first match wins. */
const triggers: readonly (readonly [string, RegExp])[] = [
  ['html', /html/i],
  ['story', /story|long/i],
  ['review', /review|sub-?agent/i],
  ['fix', /fix|discount|bug/i],
  ['tests', /test/i],
  ['explain', /explain|project|what|hello|hi\b/i],
]

/** Returns the name of the script for a prompt. `other` if no pattern matches. */
export function scriptFor(prompt: string): string {
  return triggers.find(([, word]) => word.test(prompt))?.[0] ?? 'other'
}

const explained = `## A small shop

This project computes **what a customer pays**. It has two files:

| file | what it does |
|---|---|
| \`src/cart.js\` | adds up the items, then the tax |
| \`src/cart.test.js\` | two tests, *one of which fails* |

The whole of it is one function:

\`\`\`js
export function total(items, discount = 0) {
  const net = items.reduce((sum, item) => sum + item.price * item.count, 0)
  return net * (1 + taxRate)
}
\`\`\`

What I noticed:

1. The parameter \`discount\` is accepted and **never used**.
2. The tax rate is a constant, so other countries need other code.
3. Prices are numbers; cents will be lost to rounding sooner or later.

> Ask me to *run the tests* or to *fix the discount*: both need a person who may allow it.
`

const html = `This is what a page must not run:

<img src="x" onerror="document.title='hacked'"><script>document.title='hacked'</script>

An inline one: <b onclick="document.title='hacked'">bold</b>, and a [link](javascript:document.title='hacked').
`

const story = Array.from(
  { length: 60 },
  (_, index) =>
    `**Chapter ${index + 1}.** The customer put another item into the cart, looked at the total, and wondered where the discount had gone. Nobody in the shop knew.`,
)
  .join('\n\n')
  .replaceAll('Nobody in the shop knew.', 'The shop did not know.')

const line = '  return net * (1 + taxRate)'
/** Calls the tool that writes the to-dos: the first `done` are completed, and the next is in progress. */
const todos = (done: number): ModelAnswer[number] =>
  callTool('todowrite', {
    todos: ['Read the cart', 'Ask what is intended', 'Change the total'].map((content, index) => ({
      ...{ id: String(index + 1), content, priority: 'medium' },
      status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
    })),
  })

const question = {
  header: 'Discount',
  question: 'Should the discount be taken off before or after tax?',
  options: [
    { label: 'Before tax', description: 'The customer also saves the tax on it' },
    { label: 'After tax', description: 'The customer saves exactly the discount' },
  ],
}

/** Says the intro, and replaces the line that ignores the discount. */
const edit = (fixed: string, intro: string): ModelAnswer => [
  sayText(intro),
  callTool('edit', { filePath: 'src/cart.js', oldString: line, newString: fixed }),
]

/** The scripted answers of the model. Edits and tests require a permission, see `permissions`. */
export const scripts: Scripts = {
  explain: { title: 'About the shop', steps: [[callTool('read', { filePath: 'src/cart.js' })], [sayText(explained)]] },
  tests: {
    title: 'Run the tests',
    steps: [
      [
        sayText('I will run the tests, if you allow it.'),
        callTool('bash', { command: 'npm test', description: 'Run the tests' }),
      ],
      {
        branches: [
          { includes: 'rejected', pieces: [sayText('Then I leave them alone, and have nothing new to report.')] },
          { includes: 'fail 0', pieces: [sayText('All tests pass: the discount **counts**.')] },
        ],
        otherwise: [sayText('The tests ran. One of the two fails: a discount does **not** lower the total.')],
      },
    ],
  },
  fix: {
    title: 'Fix the discount',
    steps: [
      [
        think('The parameter exists, but nothing uses it. I need to know what is intended.'),
        todos(0),
        callTool('read', { filePath: 'src/cart.js' }),
      ],
      [sayText('Nothing uses the parameter `discount`. One question first.'), todos(1)],
      [callTool('question', { questions: [question] })],
      {
        branches: [
          { includes: '="After tax"', pieces: edit('  return net * (1 + taxRate) - discount', 'After tax it is.') },
        ],
        otherwise: edit('  return (net - discount) * (1 + taxRate)', 'Before tax it is.'),
      },
      {
        branches: [
          { includes: 'rejected', pieces: [sayText('Then I leave the cart as it is.')] },
          { includes: 'oldString', pieces: [sayText('The discount counts already: I changed this before.')] },
        ],
        otherwise: [sayText('Done: the discount counts now. Ask me to **run the tests** to see it.'), todos(3)],
      },
      [sayText('Only `src/cart.js` was changed.')],
    ],
  },
  review: {
    title: 'Review the cart',
    steps: [
      [
        sayText('I will send a sub-agent to review it.'),
        callTool('task', {
          description: 'Review the cart',
          prompt: `Review src/cart.js. ${scenarioToken('reviewer')}`,
          subagent_type: 'general',
        }),
      ],
      [sayText('The sub-agent is done. Its finding: nothing uses `discount`, so every customer pays the full price.')],
    ],
  },
  reviewer: {
    steps: [
      [sayText('I will read it first.'), callTool('read', { filePath: 'src/cart.js' })],
      [callTool('grep', { pattern: 'discount', path: 'src' })],
      [sayText('Nothing uses the parameter `discount`.')],
    ],
  },
  story: { title: 'A long story', steps: [[sayText(story)]] },
  html: { title: 'Raw HTML', steps: [[sayText(html)]] },
  other: {
    title: 'What I can do',
    steps: [
      [
        sayText(
          'I am a script, so I know few prompts: *explain the project*, *run the tests*, *fix the discount*, *review the cart*, *tell a long story*, and *answer with HTML*. Commands like `/status`, `/queue` and `/help` work, too.',
        ),
      ],
    ],
  },
}

/** The permissions of the demo's server. The agent asks for these, and for nothing else in these scripts. */
export const permissions = { bash: { '*': 'allow', 'npm test*': 'ask' }, edit: 'ask' } as const
