import { type AnswerPiece, callTool, type ModelAnswer, type ScriptStep, sayText, think } from '../script.ts'

const plan = ['Read the cart', 'Run the tests', 'Fix the total', 'Run the tests again']
/** Returns the call that writes the to-do list, with this many items done and the next in progress. */
const todos = (doneCount: number): AnswerPiece =>
  callTool('todowrite', {
    todos: plan.map((content, index) => ({
      id: String(index + 1),
      content,
      status: index < doneCount ? 'completed' : index === doneCount ? 'in_progress' : 'pending',
      priority: 'medium',
    })),
  })

const runTests = (description: string): AnswerPiece => callTool('bash', { command: 'npm test', description })

const line = '  return net * (1 + taxRate)'
const fixed = {
  before: '  return (net - discount) * (1 + taxRate)',
  after: '  return net * (1 + taxRate) - discount',
}
/** Returns the answer that says this text, and edits the shop to take the discount off before or after tax. */
const fix = (which: keyof typeof fixed, text: string): ModelAnswer => [
  sayText(text),
  callTool('edit', { filePath: 'src/cart.js', oldString: line, newString: fixed[which] }),
]

/** Says how the discount is taken off, and what customers pay now. */
const report = (which: keyof typeof fixed): ModelAnswer => [
  sayText(`## The discount counts now

The parameter \`discount\` was accepted and **never used**. It is now taken off *${which} tax*:

\`\`\`js
export function total(items, discount = 0) {
  const net = items.reduce((sum, item) => sum + item.price * item.count, 0)
${fixed[which]}
}
\`\`\`

What a customer pays for two items at 50:

| discount | was | is |
|---:|---:|---:|
| 0 | 120 | 120 |
| 10 | 120 | ${which === 'before' ? 108 : 110} |
| 25 | 120 | ${which === 'before' ? 90 : 95} |

- Both tests pass.
- Only \`src/cart.js\` was changed.
- A discount larger than the sum gives a negative total; you may want to forbid that.
`),
]

/** Looks, plans, finds the bug, asks what is intended, fixes it accordingly, and reports. */
export const shopSteps: readonly ScriptStep[] = [
  [
    think('A total that ignores its discount. I should read the code before guessing, and keep a to-do list.'),
    sayText('I will look into the cart, run its tests, and fix the total.'),
    todos(0),
  ],
  [
    callTool('read', { filePath: 'src/cart.js' }),
    callTool('bash', { command: 'grep -rn "discount" src', description: 'Find the discount' }),
  ],
  [
    think('The parameter exists, but nothing uses it. The tests should show that.'),
    sayText('Nothing uses the parameter `discount`. Let me see whether the tests agree.'),
    todos(1),
    runTests('Run the tests'),
  ],
  [
    sayText('One test fails, as expected. Before I fix it, I need to know what is intended.'),
    callTool('question', {
      questions: [
        {
          header: 'Discount',
          question: 'Should the discount be taken off before or after tax?',
          options: [
            { label: 'Before tax', description: 'The customer also saves the tax on it' },
            { label: 'After tax', description: 'The customer saves exactly the discount' },
          ],
        },
      ],
    }),
  ],
  {
    branches: [{ includes: '="After tax"', pieces: [...fix('after', 'After tax it is.'), todos(2)] }],
    otherwise: [...fix('before', 'Before tax it is.'), todos(2)],
  },
  [todos(3), runTests('Run the tests again')],
  [think('Both pass. Time to report.'), todos(4)],
  { branches: [{ includes: '="After tax"', pieces: report('after') }], otherwise: report('before') },
]
