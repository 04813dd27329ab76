import { scenario } from '../scenario.ts'
import { reasoning, text, tool } from '../script.ts'

const todos = (...statuses: readonly string[]) => ({
  todos: ['Look around', 'Count the lines', 'Tell'].map((content, index) => ({
    id: String(index + 1),
    content,
    status: statuses[index] ?? 'pending',
    priority: 'medium',
  })),
})

export const basics = [
  scenario('plain', 'A prompt and one text answer.', {
    steps: [[text('Hello! This is a plain answer, streamed in a few small pieces, with nothing else to see.')]],
  }),
  scenario('tools-todos', 'Reasoning, three tools after one another, a todo list kept, and an answer.', {
    files: { 'notes.txt': 'one\ntwo\nthree\n' },
    steps: [
      [reasoning('The user wants a look around. First I plan the work.'), tool('todowrite', todos('in_progress'))],
      [text('I will read the notes.'), tool('read', { filePath: 'notes.txt' })],
      [
        reasoning('Three lines, it seems. I count them.'),
        tool('bash', { command: 'wc -l notes.txt', description: 'Count the lines' }),
      ],
      [tool('todowrite', todos('completed', 'completed', 'in_progress'))],
      [reasoning('All is known.'), text('The notes have three lines.\n\n- one\n- two\n- three')],
    ],
  }),
]
