import { scenario } from '../scenario.ts'
import { reasoning, scenarioToken, text, tool } from '../script.ts'
import { longMarkdown, unicodeText } from './words.ts'

const todos = (...statuses: readonly string[]) => ({
  todos: ['Look around', 'Count the lines', 'Tell'].map((content, index) => ({
    id: String(index + 1),
    content,
    status: statuses[index] ?? 'pending',
    priority: 'medium',
  })),
})

const burst = Array.from({ length: 400 }, (_, index) => `Word ${index} of a flood. `).join('')

/** Turns without a person or a failure: what the model says. */
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
  scenario('reasoning-text', 'Reasoning and text take turns within one step.', {
    steps: [
      [
        reasoning('First I think about the beginning.'),
        text('This is the beginning.'),
        reasoning('Then I think about the end.'),
        text('And this is the end.'),
      ],
    ],
  }),
  scenario('reasoning-only', 'The model thinks and then says nothing.', {
    steps: [[reasoning('I think, but there is nothing to say.')]],
  }),
  scenario('empty-answer', 'The model answers with nothing at all.', { steps: [[]] }),
  scenario('tool-only', 'The model runs a tool and then says nothing.', {
    steps: [[tool('bash', { command: 'echo done', description: 'Do it' })], []],
  }),
  scenario('trailing-space', 'The answer ends in spaces and line breaks, and begins with them.', {
    steps: [[text('\n\n  Some space before, some space after.  \n\n\n')]],
  }),
  scenario('long-markdown', 'A long answer with every kind of Markdown.', { steps: [[text(longMarkdown, 24)]] }),
  scenario('unicode', 'Emoji, combined characters and right-to-left text, one code point per delta.', {
    steps: [[text(unicodeText, 1)]],
  }),
  scenario('burst', 'Thousands of small deltas in one text.', { steps: [[text(burst, 3)]] }),
  scenario('finish-length', "The answer ends because the model's output limit is reached.", {
    steps: [[text('This answer is longer than the model may'), { type: 'finish', reason: 'length' }]],
  }),
  scenario('two-turns', 'Two prompts, one after the other was answered.', {
    steps: [[text('The first answer.')]],
    more: { second: [[text('The second answer.')]] },
  }),
  scenario('two-sessions', 'Two sessions stream at the same time, their events interleaved.', {
    steps: [
      [text('The first session begins'), { type: 'hold', name: 'first' }, text(' and ends after the second began.')],
    ],
    more: {
      second: [[text('The second session begins'), { type: 'hold', name: 'second' }, text(' and ends last.')]],
    },
  }),
  scenario('file-prompt', 'The prompt has a text file attached.', {
    files: { 'notes.txt': 'The notes say nothing of interest.\n' },
    steps: [[text('I have read your file.')]],
  }),
  scenario('plan-agent', 'The prompt goes to the plan agent, which the server reminds of its limits.', {
    steps: [[text('Here is a plan: first look, then leap.')]],
  }),
  scenario('command', 'A slash command with arguments.', {
    config: { command: { greet: { template: `Greet $ARGUMENTS. ${scenarioToken('command')}`, description: 'Greet' } } },
    steps: [[text('Greetings, world.')]],
  }),
  scenario('shell', 'A person runs a shell command in the session; no model is asked.', { steps: [] }),
  scenario('no-reply', 'A prompt that wants no reply.', { steps: [[text('Nobody asked.')]] }),
  scenario('no-reply-then-prompt', 'A prompt that wants no reply, and then one that does.', {
    steps: [[text('Nobody asked.')]],
    more: { second: [[text('Now somebody asked.')]] },
  }),
]
