import { type Pieces, reasoning, type Step, text, tool } from '../script.ts'

const plan = ['Read the cart', 'Run the tests', 'Mend the total', 'Run the tests again']
const todos = (done: number) =>
  tool('todowrite', {
    todos: plan.map((content, index) => ({
      id: String(index + 1),
      content,
      status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
      priority: 'medium',
    })),
  })

const runTests = (description: string) => tool('bash', { command: 'npm test', description })

const line = '  return net * (1 + taxRate)'
const mended = {
  before: '  return (net - discount) * (1 + taxRate)',
  after: '  return net * (1 + taxRate) - discount',
}
const mend = (which: keyof typeof mended, words: string): Pieces => [
  text(words),
  tool('edit', { filePath: 'src/cart.js', oldString: line, newString: mended[which] }),
]

const report = (which: keyof typeof mended): Pieces => [
  text(`## The discount counts now

The parameter \`discount\` was accepted and **never used**. It is now taken off *${which} tax*:

\`\`\`js
export function total(items, discount = 0) {
  const net = items.reduce((sum, item) => sum + item.price * item.count, 0)
${mended[which]}
}
\`\`\`

What a customer pays for two items at 50:

| discount | was | is |
|---:|---:|---:|
| 0 | 120 | 120 |
| 10 | 120 | ${which === 'before' ? 108 : 110} |
| 25 | 120 | ${which === 'before' ? 90 : 95} |

- Both tests pass.
- Nothing but \`src/cart.js\` was changed.
- A discount larger than the sum gives a negative total; you may want to forbid that.
`),
]

/** Looks, plans, finds the bug, asks what is intended, fixes it accordingly, and reports. */
export const shopSteps: readonly Step[] = [
  [
    reasoning(
      'A total that ignores its discount. I should read the code before I guess, and keep a list of what to do.',
    ),
    text('I will look into the cart, run its tests, and mend the total.'),
    todos(0),
  ],
  [
    tool('read', { filePath: 'src/cart.js' }),
    tool('bash', { command: 'grep -rn "discount" src', description: 'Find the discount' }),
  ],
  [
    reasoning('The parameter is there, but nothing uses it. The tests should show it.'),
    text('`discount` is a parameter that nothing uses. Let me see whether the tests agree.'),
    todos(1),
    runTests('Run the tests'),
  ],
  [
    text('One test fails, as expected. Before I mend it I need to know how it is meant.'),
    tool('question', {
      questions: [
        {
          header: 'Discount',
          question: 'Shall the discount be taken off before or after tax?',
          options: [
            { label: 'Before tax', description: 'The customer saves the tax on it, too' },
            { label: 'After tax', description: 'Exactly the discount is saved' },
          ],
        },
      ],
    }),
  ],
  {
    branches: [{ includes: '="After tax"', pieces: [...mend('after', 'After tax it is.'), todos(2)] }],
    otherwise: [...mend('before', 'Before tax it is.'), todos(2)],
  },
  [todos(3), runTests('Run the tests again')],
  [reasoning('Both pass. Time to report.'), todos(4)],
  { branches: [{ includes: '="After tax"', pieces: report('after') }], otherwise: report('before') },
]
