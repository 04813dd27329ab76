import { scenario } from '../scenario.ts'
import { callTool, holdAnswer, sayText, think } from '../script.ts'
import { asking } from './pieces.ts'

const options = [
  { label: 'Yes', description: 'Do it' },
  { label: 'No', description: 'Do not' },
]

/** Turns that a person controls: aborts, further prompts, reverts. */
export const ends = [
  scenario('abort-text', 'A person aborts while the text streams.', {
    steps: [
      [
        sayText('This answer will never come to its end, because'),
        holdAnswer('middle'),
        sayText(' nobody hears this.'),
      ],
    ],
  }),
  scenario('abort-reasoning', 'A person aborts while the model reasons.', {
    steps: [
      [think('This thought will never come to its end, because'), holdAnswer('middle'), sayText('Nobody hears this.')],
    ],
  }),
  scenario('abort-before-text', 'A person aborts before the model has emitted anything.', {
    steps: [[holdAnswer('middle'), sayText('Nobody hears this.')]],
  }),
  scenario('abort-tool', 'A person aborts while a command runs.', {
    steps: [
      [sayText('I wait.'), callTool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [sayText('Waited.')],
    ],
  }),
  scenario('abort-permission', 'A person aborts while a permission is pending.', {
    config: asking,
    steps: [
      [sayText('May I?'), callTool('bash', { command: 'echo allowed', description: 'Ask' })],
      [sayText('I did.')],
    ],
  }),
  scenario('abort-question', 'A person aborts while a question is pending.', {
    steps: [
      [sayText('May I?'), callTool('question', { questions: [{ question: 'Go on?', header: 'Go', options }] })],
      [sayText('I did.')],
    ],
  }),
  scenario('abort-then-prompt', 'A person aborts and sends another prompt.', {
    steps: [
      [
        sayText('This answer will never come to its end, because'),
        holdAnswer('middle'),
        sayText(' nobody hears this.'),
      ],
    ],
    more: { second: [[sayText('This one will.')]] },
  }),
  scenario('rejected-then-prompt', 'A person rejects a permission, which ends the turn, and sends another prompt.', {
    config: asking,
    steps: [[sayText('I will run it.'), callTool('bash', { command: 'echo forbidden', description: 'Run' })]],
    more: { second: [[sayText('Something else, then.')]] },
  }),
  scenario('second-prompt', 'A second prompt arrives while the first is being answered.', {
    steps: [[sayText('The first answer'), holdAnswer('middle'), sayText(' is complete.')]],
    more: { second: [[sayText('The second answer is complete, too.')]] },
  }),
  scenario('second-prompt-tool', 'A second prompt arrives while a tool of the first one runs.', {
    steps: [
      [
        sayText('I wait a little.'),
        callTool('bash', { command: 'echo started; touch started; sleep 2', description: 'Wait' }),
      ],
      [sayText('Waited for the first.')],
    ],
    more: { second: [[sayText('The second prompt took over.')]] },
  }),
  scenario('revert', 'The last turn is reverted, and the next prompt removes it.', {
    steps: [[sayText('The first answer.')]],
    more: {
      second: [
        [sayText('An answer'), callTool('bash', { command: 'echo x', description: 'Run' })],
        [sayText('to be reverted.')],
      ],
      third: [[sayText('The third answer, after the second was reverted.')]],
    },
  }),
  scenario('revert-undone', 'The last turn is reverted, and the revert undone.', {
    steps: [[sayText('The first answer.')]],
    more: { second: [[sayText('The second answer stays.')]] },
  }),
  scenario('part-removed', 'A message and a part of the history are deleted by a client.', {
    steps: [[sayText('The first answer.')]],
    more: { second: [[think('A thought to be deleted.'), sayText('The second answer.')]] },
  }),
  scenario('session-deleted', 'The session is deleted in mid-text.', {
    steps: [[sayText('This answer has no home, because'), holdAnswer('middle'), sayText(' its session is gone.')]],
  }),
  scenario('fork', 'A session is forked and both continue.', {
    steps: [[sayText('The common answer.')]],
    more: { second: [[sayText('The answer of the fork.')]] },
  }),
]
