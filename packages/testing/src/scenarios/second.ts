import { scenario } from '../scenario.ts'
import { type AnswerPiece, callTool, holdAnswer, sayText, scenarioToken } from '../script.ts'
import { asking, colour, task } from './pieces.ts'

const waiting: AnswerPiece = callTool('bash', { command: 'echo started; touch started; sleep 2', description: 'Wait' })
const lost = [
  sayText('This answer is interrupted by a restart, because'),
  holdAnswer('middle'),
  sayText(' nothing lasts for ever.'),
]

/** Features of OpenCode 2 alone: queued and parked prompts, unprompted runs, staged reverts, and a stop. */
export const secondScenarios = [
  scenario('queue', 'A queued prompt waits until the text is complete.', {
    steps: [[sayText('The first answer'), holdAnswer('middle'), sayText(' is complete.')]],
    more: { second: [[sayText('The queued prompt has its turn.')]] },
  }),
  scenario('queue-tool', 'A queued prompt waits until the run with its tool would end.', {
    steps: [[sayText('I wait a little.'), waiting], [sayText('Waited, and now I am done.')]],
    more: { second: [[sayText('The queued prompt has its turn.')]] },
  }),
  scenario('queue-twice', 'Two queued prompts have their turns one after the other.', {
    steps: [[sayText('The first answer'), holdAnswer('middle'), sayText(' is complete.')]],
    more: {
      second: [[sayText('The first queued prompt has its turn.')]],
      third: [[sayText('The second queued prompt has its turn.')]],
    },
  }),
  scenario('queue-and-steer', 'A queued prompt waits while a later one steers the run.', {
    steps: [[sayText('I wait a little.'), waiting], [sayText('Waited for the first.')]],
    more: {
      second: [[sayText('The queued prompt has its turn.')]],
      third: [[sayText('The steering prompt took over.')]],
    },
  }),
  scenario('queue-failed', 'A prompt is queued behind a run that fails.', {
    steps: [
      [sayText('I wait a little.'), waiting],
      [{ type: 'error', status: 400, message: 'The request makes no sense' }],
    ],
    more: { second: [[sayText('The queued prompt has its turn.')]] },
  }),
  scenario('parked', 'A queued prompt stays behind an abort and runs together with the next prompt.', {
    steps: [
      [sayText('This answer will never come to its end, because'), holdAnswer('middle'), sayText(' it is aborted.')],
    ],
    more: {
      second: [[sayText('The parked prompt alone.')]],
      third: [[sayText('The parked prompt and the next one.')]],
    },
  }),
  scenario('parked-by-rejection', 'A queued prompt stays behind a rejection.', {
    config: asking,
    steps: [
      [sayText('I will run it.'), callTool('bash', { command: 'echo forbidden', description: 'Run' })],
      [sayText('No.')],
    ],
    more: { second: [[sayText('The parked prompt has its turn.')]] },
  }),
  scenario('steer-permission', 'A prompt arrives while a permission is pending.', {
    config: asking,
    steps: [
      [sayText('May I?'), callTool('bash', { command: 'echo allowed', description: 'Ask' })],
      [sayText('I did.')],
    ],
    more: { second: [[sayText('I did, and heard you.')]] },
  }),
  scenario('permission-always-again', 'Permission is granted for always: the same command does not ask again.', {
    config: asking,
    steps: [
      [callTool('bash', { command: 'echo again', description: 'Run' })],
      [callTool('bash', { command: 'echo again', description: 'Run' })],
      [sayText('Both ran.')],
    ],
  }),
  scenario('prompt-repeated', 'A prompt is sent again under its id after its run, and the server runs nothing.', {
    steps: [[sayText('Said once.')]],
  }),
  scenario('shell-background', 'The agent starts a command in the background and ends before it.', {
    steps: [
      [
        callTool('bash', {
          command: 'touch started; until [ -e go ]; do sleep 0.1; done; echo late',
          description: 'Wait',
          background: true,
        }),
      ],
      [sayText('It runs in the background.')],
      [sayText('It is done, I hear.')],
    ],
  }),
  scenario('question-unanswered', 'A person sends the form without an answer.', {
    steps: [[sayText('One thing first.'), callTool('question', { questions: [colour] })], [sayText('Then I choose.')]],
  }),
  scenario('subagent-rejected', 'A person rejects the permission of a sub-agent, and the agent continues without it.', {
    config: asking,
    steps: [[task('Run something', 'subagent-rejected/child')], [sayText('The sub-agent was not allowed.')]],
    more: {
      child: [[sayText('I ask.'), callTool('bash', { command: 'echo child', description: 'Run' })], [sayText('Ran.')]],
    },
  }),
  scenario('subagent-moved', 'A person moves a running sub-agent to the background.', {
    steps: [[task('Work for long', 'subagent-moved/child')], [sayText('It works in the background now.')]],
    more: {
      child: [
        [sayText('Working'), holdAnswer('background'), sayText(` and done. ${scenarioToken('subagent-moved/after')}`)],
      ],
      after: [[sayText('The moved work is done, I hear.')]],
    },
  }),
  scenario('subagent-background-two', 'Two sub-agents in the background end after the turn, one after the other.', {
    steps: [
      [
        task('Work left', 'subagent-background-two/left', { background: true }),
        task('Work right', 'subagent-background-two/right', { background: true }),
      ],
      [sayText('Both work in the background now.')],
    ],
    more: {
      left: [
        [sayText('Left'), holdAnswer('left'), sayText(` done. ${scenarioToken('subagent-background-two/afterLeft')}`)],
      ],
      right: [
        [
          sayText('Right'),
          holdAnswer('right'),
          sayText(` done. ${scenarioToken('subagent-background-two/afterRight')}`),
        ],
      ],
      afterLeft: [[sayText('Left is done, I hear.')]],
      afterRight: [[sayText('Right is done, I hear.')]],
    },
  }),
  scenario('revert-staged', 'The last turn is reverted, and nothing follows.', {
    steps: [[sayText('The first answer.')]],
    more: { second: [[sayText('The second answer, to be reverted.')]] },
  }),
  scenario('revert-committed', 'The last turn is reverted and removed.', {
    steps: [[sayText('The first answer.')]],
    more: { second: [[sayText('The second answer, to be removed.')]] },
  }),
  scenario('stopped', 'The server is asked to stop in mid-text and started again.', { steps: [lost] }),
  scenario('stopped-tool', 'The server is asked to stop while a tool runs, and started again.', {
    steps: [
      [sayText('I wait.'), callTool('bash', { command: 'echo started; touch started; sleep 60', description: 'Wait' })],
      [sayText('Waited.')],
    ],
  }),
  scenario('stopped-then-prompt', 'The server is asked to stop in mid-text, and the session goes on after its start.', {
    steps: [lost],
    more: { second: [[sayText('Here we are again.')]] },
  }),
]
