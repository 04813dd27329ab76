import { scenario } from '../scenario.ts'
import { callTool, holdAnswer, httpError, sayText, scenarioToken } from '../script.ts'
import { asking, bash, colour, task } from './pieces.ts'

const nesting = { agent: { general: { permission: { task: 'allow' } } }, subagentDepth: 2 } as const

/** Turns with sub-agents. */
export const children = [
  scenario('subagent', 'The agent gives a task to a sub-agent, which runs a tool and answers.', {
    steps: [
      [sayText('I delegate this.'), task('Explore the code', 'subagent/child')],
      [sayText('The sub-agent found nothing bad.')],
    ],
    more: { child: [[sayText('I look.'), bash('ls')], [sayText('Nothing bad here, says the child.')]] },
  }),
  scenario('subagent-parallel', 'Two sub-agents run at once, and the one that began first ends last.', {
    steps: [
      [task('Look left', 'subagent-parallel/left'), task('Look right', 'subagent-parallel/right')],
      [sayText('Both sides were looked at.')],
    ],
    more: {
      left: [[sayText('Left is'), holdAnswer('left'), sayText(' clear.')]],
      right: [[sayText('Right is'), holdAnswer('right'), sayText(' clear.')]],
    },
  }),
  scenario('subagent-permission', 'A sub-agent asks for permission, and the request has the session of the child.', {
    config: asking,
    steps: [[task('Run something', 'subagent-permission/child')], [sayText('The sub-agent was allowed.')]],
    more: { child: [[sayText('I ask.'), bash('echo child')], [sayText('I was allowed.')]] },
  }),
  scenario('subagent-question', 'A sub-agent asks a question.', {
    config: { agent: { general: { permission: { question: 'allow' } } } },
    steps: [[task('Ask something', 'subagent-question/child')], [sayText('The sub-agent knows now.')]],
    more: { child: [[callTool('question', { questions: [colour] })], [sayText('It is red.')]] },
  }),
  scenario('subagent-nested', 'A sub-agent in a sub-agent.', {
    config: nesting,
    steps: [[task('Go deep', 'subagent-nested/child')], [sayText('The deep is explored.')]],
    more: {
      child: [[sayText('One deep.'), task('Go deeper', 'subagent-nested/grandchild')], [sayText('Deeper was fine.')]],
      grandchild: [[sayText('Two deep.'), bash('echo deep')], [sayText('Nothing lives here.')]],
    },
  }),
  scenario('subagent-nested-permission', 'A sub-agent in a sub-agent asks for permission.', {
    config: { ...nesting, ...asking },
    steps: [[task('Go deep', 'subagent-nested-permission/child')], [sayText('The deep is explored.')]],
    more: {
      child: [[task('Go deeper', 'subagent-nested-permission/grandchild')], [sayText('Deeper was fine.')]],
      grandchild: [[bash('echo deep')], [sayText('Nothing lives here.')]],
    },
  }),
  scenario('subagent-failing', "The sub-agent's model refuses, and the agent gets the error.", {
    steps: [[task('Fail', 'subagent-failing/child')], [sayText('The sub-agent failed.')]],
    more: { child: [[httpError(401, 'The key is wrong')]] },
  }),
  scenario('subagent-resumed', 'The agent sends a second task to the same sub-agent.', {
    steps: [
      [task('Begin', 'subagent-resumed/begin')],
      [task('Go on', 'subagent-resumed/more', { session_id: '{session}', task_id: '{session}' })],
      [sayText('Twice asked, twice answered.')],
    ],
    more: { begin: [[sayText('The first half.')]], more: [[sayText('The second half.')]] },
  }),
  scenario('subagent-background', 'A sub-agent works in the background and ends after the turn did.', {
    env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: 'true' },
    steps: [
      [task('Work on your own', 'subagent-background/child', { background: true })],
      [sayText('It works in the background now.')],
    ],
    more: {
      child: [
        [
          sayText('Working in the background'),
          holdAnswer('background'),
          sayText(` and done now. ${scenarioToken('subagent-background/after')}`),
        ],
      ],
      after: [[sayText('The background work is done, I hear.')]],
    },
  }),
  scenario('command-subtask', 'A slash command that runs as a sub-agent.', {
    config: {
      command: {
        survey: {
          template: `Survey $ARGUMENTS. ${scenarioToken('command-subtask/child')}`,
          description: 'Survey',
          agent: 'general',
          subtask: true,
        },
      },
    },
    steps: [[sayText('The survey is complete.')]],
    more: { child: [[sayText('Surveyed: all is well.')]] },
  }),
  scenario('abort-child', 'A person aborts the root while a sub-agent streams text.', {
    steps: [[task('Talk for ever', 'abort-child/child')], [sayText('It was interrupted.')]],
    more: { child: [[sayText('This goes on and on and'), holdAnswer('middle'), sayText(' never ends.')]] },
  }),
  scenario('abort-child-permission', 'A person aborts the root while the permission of a sub-agent is pending.', {
    config: asking,
    steps: [[task('Run something', 'abort-child-permission/child')], [sayText('The sub-agent did not get far.')]],
    more: { child: [[sayText('I ask.'), bash('echo child')], [sayText('I was allowed.')]] },
  }),
]
