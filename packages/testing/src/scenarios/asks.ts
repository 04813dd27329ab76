import { scenario } from '../scenario.ts'
import { text, tool } from '../script.ts'

const colours = {
  question: 'Which colour shall it be?',
  header: 'Colour',
  options: [
    { label: 'Red', description: 'Like a tomato' },
    { label: 'Blue', description: 'Like the sky' },
  ],
}

export const asks = [
  scenario('question', 'The agent asks one question, a person answers, the agent goes on.', {
    steps: [[text('One thing first.'), tool('question', { questions: [colours] })], [text('Blue it is.')]],
  }),
  scenario('permission-once', 'A command asks for permission, gets it once, and runs.', {
    config: { permission: { bash: 'ask' } },
    steps: [
      [text('I will run it.'), tool('bash', { command: 'echo allowed', description: 'Say allowed' })],
      [text('It ran.')],
    ],
  }),
]
