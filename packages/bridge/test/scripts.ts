import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'

const options = [
  { label: 'Red', description: 'Warm' },
  { label: 'Blue', description: 'Cool' },
]

/** Asks for a colour, and ends with "As you like." */
export const question: Scripts[string] = {
  steps: [
    [
      sayText('Let me ask.'),
      callTool('question', { questions: [{ header: 'Colour', question: 'Which colour?', options }] }),
    ],
    [sayText('As you like.')],
  ],
}

/** `slow<chat>` waits at `middle<chat>`. A place to wait at opens once, so each chat has its own. */
export function slowIn(chats: readonly number[]): Scripts {
  return Object.fromEntries(
    chats.map((chat) => [
      `slow${chat}`,
      { steps: [[sayText('One moment'), holdAnswer(`middle${chat}`), sayText(', done.')]] },
    ]),
  )
}
