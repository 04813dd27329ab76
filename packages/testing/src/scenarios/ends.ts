import { scenario } from '../scenario.ts'
import { hold, reasoning, text, tool } from '../script.ts'

const asking = { permission: { bash: 'ask' } } as const
const options = [
  { label: 'Yes', description: 'Do it' },
  { label: 'No', description: 'Do not' },
]

/** Turns that a person controls: aborts, further prompts, reverts. */
export const ends = [
  scenario('abort-text', 'A person aborts while the text streams.', {
    steps: [[text('This answer will never come to its end, because'), hold('middle'), text(' nobody hears this.')]],
  }),
  scenario('abort-reasoning', 'A person aborts while the model reasons.', {
    steps: [
      [reasoning('This thought will never come to its end, because'), hold('middle'), text('Nobody hears this.')],
    ],
  }),
  scenario('abort-before-text', 'A person aborts before the model has said anything.', {
    steps: [[hold('middle'), text('Nobody hears this.')]],
  }),
  scenario('abort-tool', 'A person aborts while a command runs.', {
    steps: [
      [text('I wait.'), tool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [text('Waited.')],
    ],
  }),
  scenario('abort-permission', 'A person aborts while a permission is pending.', {
    config: asking,
    steps: [[text('May I?'), tool('bash', { command: 'echo allowed', description: 'Ask' })], [text('I did.')]],
  }),
  scenario('abort-question', 'A person aborts while a question is pending.', {
    steps: [
      [text('May I?'), tool('question', { questions: [{ question: 'Go on?', header: 'Go', options }] })],
      [text('I did.')],
    ],
  }),
  scenario('abort-then-prompt', 'A person aborts and sends another prompt.', {
    steps: [[text('This answer will never come to its end, because'), hold('middle'), text(' nobody hears this.')]],
    more: { second: [[text('This one will.')]] },
  }),
  scenario('second-prompt', 'A second prompt arrives while the first is being answered.', {
    steps: [[text('The first answer'), hold('middle'), text(' is complete.')]],
    more: { second: [[text('The second answer is complete, too.')]] },
  }),
  scenario('second-prompt-tool', 'A second prompt arrives while a tool of the first one runs.', {
    steps: [
      [
        text('I wait a little.'),
        tool('bash', { command: 'echo started; touch started; sleep 2', description: 'Wait' }),
      ],
      [text('Waited for the first.')],
    ],
    more: { second: [[text('The second prompt took over.')]] },
  }),
  scenario('revert', 'The last turn is reverted, and the next prompt removes it.', {
    steps: [[text('The first answer.')]],
    more: {
      second: [[text('An answer'), tool('bash', { command: 'echo x', description: 'Run' })], [text('to be reverted.')]],
      third: [[text('The third answer, after the second was reverted.')]],
    },
  }),
  scenario('revert-undone', 'The last turn is reverted, and the revert undone.', {
    steps: [[text('The first answer.')]],
    more: { second: [[text('The second answer stays.')]] },
  }),
  scenario('part-removed', 'A message and a part of the history are deleted by a client.', {
    steps: [[text('The first answer.')]],
    more: { second: [[reasoning('A thought to be deleted.'), text('The second answer.')]] },
  }),
  scenario('session-deleted', 'The session is deleted in mid-text.', {
    steps: [[text('This answer has no home, because'), hold('middle'), text(' its session is gone.')]],
  }),
  scenario('fork', 'A session is forked and both continue.', {
    steps: [[text('The common answer.')]],
    more: { second: [[text('The answer of the fork.')]] },
  }),
]
