import { scenario } from '../scenario.ts'
import { callTool, sayText, scenarioToken, think } from '../script.ts'
import { longMarkdown, unicodeText } from './texts.ts'

/** The input of a call that writes a to-do list with these statuses. The rest is pending. */
const todos = (...statuses: readonly string[]) => ({
  todos: ['Look around', 'Count the lines', 'Tell'].map((content, index) => ({
    id: String(index + 1),
    content,
    status: statuses[index] ?? 'pending',
    priority: 'medium',
  })),
})

const burst = Array.from({ length: 400 }, (_, index) => `Word ${index} of a flood. `).join('')

/** Turns without a person or a failure. */
export const basics = [
  scenario('plain', 'A prompt and one text answer.', {
    steps: [[sayText('Hello! This is a plain answer, streamed in a few small pieces, with nothing else to see.')]],
  }),
  scenario('tools-todos', 'Reasoning, three tools after one another, a todo list kept, and an answer.', {
    files: { 'notes.txt': 'one\ntwo\nthree\n' },
    steps: [
      [think('The user wants a look around. First I plan the work.'), callTool('todowrite', todos('in_progress'))],
      [sayText('I will read the notes.'), callTool('read', { filePath: 'notes.txt' })],
      [
        think('Three lines, it seems. I count them.'),
        callTool('bash', { command: 'wc -l notes.txt', description: 'Count the lines' }),
      ],
      [callTool('todowrite', todos('completed', 'completed', 'in_progress'))],
      [think('All is known.'), sayText('The notes have three lines.\n\n- one\n- two\n- three')],
    ],
  }),
  scenario('reasoning-text', 'Reasoning and text take turns within one step.', {
    steps: [
      [
        think('First I think about the beginning.'),
        sayText('This is the beginning.'),
        think('Then I think about the end.'),
        sayText('And this is the end.'),
      ],
    ],
  }),
  scenario('reasoning-only', 'The model thinks and then says nothing.', {
    steps: [[think('I think, but there is nothing to say.')]],
  }),
  scenario('empty-answer', 'The model answers with nothing at all.', { steps: [[]] }),
  scenario('tool-only', 'The model runs a tool and then says nothing.', {
    steps: [[callTool('bash', { command: 'echo done', description: 'Do it' })], []],
  }),
  scenario('trailing-space', 'The answer ends in spaces and line breaks, and begins with them.', {
    steps: [[sayText('\n\n  Some space before, some space after.  \n\n\n')]],
  }),
  scenario('long-markdown', 'A long answer with every kind of Markdown.', { steps: [[sayText(longMarkdown, 24)]] }),
  scenario('unicode', 'Emoji, combined characters and right-to-left text, one code point per delta.', {
    steps: [[sayText(unicodeText, 1)]],
  }),
  scenario('burst', 'Thousands of small deltas in one text.', { steps: [[sayText(burst, 3)]] }),
  scenario('finish-length', "The answer ends because the model's output limit is reached.", {
    steps: [[sayText('This answer is longer than the model may'), { type: 'finish', reason: 'length' }]],
  }),
  scenario('two-turns', 'Two prompts, one after the other was answered.', {
    steps: [[sayText('The first answer.')]],
    more: { second: [[sayText('The second answer.')]] },
  }),
  scenario('two-sessions', 'Two sessions stream at the same time, their events interleaved.', {
    steps: [
      [
        sayText('The first session begins'),
        { type: 'hold', name: 'first' },
        sayText(' and ends after the second began.'),
      ],
    ],
    more: {
      second: [[sayText('The second session begins'), { type: 'hold', name: 'second' }, sayText(' and ends last.')]],
    },
  }),
  scenario('file-prompt', 'The prompt has a text file attached.', {
    files: { 'notes.txt': 'The notes say nothing of interest.\n' },
    steps: [[sayText('I have read your file.')]],
  }),
  scenario('plan-agent', 'The prompt goes to the plan agent, which the server reminds of its limits.', {
    steps: [[sayText('Here is a plan: first look, then leap.')]],
  }),
  scenario('command', 'A slash command with arguments.', {
    config: { command: { greet: { template: `Greet $ARGUMENTS. ${scenarioToken('command')}`, description: 'Greet' } } },
    steps: [[sayText('Greetings, world.')]],
  }),
  scenario('shell', 'A person runs a shell command in the session, and the model gets no request.', { steps: [] }),
  scenario('no-reply', 'A prompt that wants no reply.', { steps: [[sayText('Nobody asked.')]] }),
  scenario('no-reply-then-prompt', 'A prompt that wants no reply, and then one that does.', {
    steps: [[sayText('Nobody asked.')]],
    more: { second: [[sayText('Now somebody asked.')]] },
  }),
]
