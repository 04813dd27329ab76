import {
  type AnswerPiece,
  callTool,
  holdAnswer,
  httpError,
  type ScriptStep,
  type Scripts,
  sayText,
  think,
} from '@reply/testing'

const make = { command: 'touch made.txt && echo made', description: 'Makes a file' }

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const draw = `echo ${dot} | base64 -d > dot.png`

const late = [sayText('This answer will never come to its end, because'), holdAnswer('middle'), sayText(' it is late.')]

const todo = (first: string, second: string) =>
  callTool('TodoWrite', {
    todos: [
      { content: 'Read', status: first, activeForm: 'Reading' },
      { content: 'Write', status: second, activeForm: 'Writing' },
    ],
  })

const question = {
  question: 'Which color?',
  header: 'Color',
  multiSelect: false,
  options: [
    { label: 'Red', description: 'Warm' },
    { label: 'Blue', description: 'Cold' },
  ],
}

const delegate = (scenario: string) => ({
  description: 'Look around',
  prompt: `[scenario:${scenario}] Go`,
  subagent_type: 'general-purpose',
})

const waiting = { command: 'while [ ! -f done.txt ]; do sleep 0.1; done; echo ready', description: 'Waits' }

/** What comes after a command was started in the background, and after its end, once the test lets it go on. */
const woken = (...first: readonly AnswerPiece[]): ScriptStep => ({
  branches: [
    { includes: '<task-notification>', pieces: [...first, holdAnswer('woken'), sayText('The command is done.')] },
  ],
  otherwise: [sayText('It runs.')],
})

/** What comes after a call has returned, and after Claude Code is told that a task in the background has ended. */
const followUp: ScriptStep = {
  branches: [{ includes: '<task-notification>', pieces: [sayText('The agent is done.')] }],
  otherwise: [sayText('It runs.')],
}

const wait = {
  command: 'until [ -e done.txt ]; do sleep 0.1; done; echo waited',
  description: 'Waits',
  run_in_background: true,
}

const write = { file_path: 'new.txt', content: 'one\ntwo\n' }

/** What the model says to claude-agent-acp, in the words of Claude Code's tools. */
export const claudeScripts: Scripts = {
  first: {
    steps: [
      [sayText('I look.'), callTool('Bash', { command: 'ls', description: 'Lists' })],
      [sayText('The first answer.')],
    ],
  },
  cut: {
    steps: [
      [sayText('I look again.'), callTool('Bash', { command: 'ls', description: 'Lists' })],
      [sayText('It is cut here'), holdAnswer('cut'), sayText(' and here.')],
    ],
  },
  text: { steps: [[think('Let me think.'), sayText('Hello from Claude.')]] },
  tool: {
    steps: [[sayText('I look.'), callTool('Bash', { command: 'ls', description: 'Lists' })], [sayText('I looked.')]],
  },
  permission: { steps: [[sayText('I will run it.'), callTool('Bash', make)], [sayText('That was it.')]] },
  question: { steps: [[callTool('AskUserQuestion', { questions: [question] })], [sayText('Thanks.')]] },
  todos: { steps: [[todo('in_progress', 'pending')], [todo('completed', 'in_progress')], [sayText('Planned.')]] },
  // A sub-agent works in the background, so its call returns at once.
  subagent: { steps: [[sayText('I delegate.'), callTool('Agent', delegate('child'))], followUp] },
  child: { steps: [[sayText('The child works.'), callTool('Bash', make)], [sayText('The child is done.')]] },
  'subagent-deep': { steps: [[callTool('Agent', delegate('middle'))], followUp] },
  'background-command': { steps: [[callTool('Bash', wait)], woken()] },
  meanwhile: { steps: [[sayText('The second answer.')]] },
  edit: { steps: [[callTool('Write', write)], [sayText('Written.')]] },
  middle: { steps: [[sayText('The middle works.'), callTool('Agent', delegate('child'))], followUp] },
  'subagent-endless': { steps: [[callTool('Agent', delegate('endless'))], followUp] },
  endless: { steps: [[sayText('The child works.'), holdAnswer('child'), sayText(' It never ends.')]] },
  wake: {
    steps: [
      [sayText('I start it.'), callTool('Bash', { ...waiting, run_in_background: true })],
      woken(sayText('It ended. ')),
    ],
  },
  long: { steps: [[sayText('I begin.'), callTool('Bash', waiting)], [sayText('I went on.')]] },
  'wake-late': { steps: [[callTool('Bash', { ...waiting, run_in_background: true })], woken()] },
  abort: { steps: [late] },
  error: { steps: [[httpError(401, 'The key is wrong.')]] },
  picture: {
    steps: [
      [callTool('Bash', { command: draw, description: 'Draws' })],
      [callTool('Read', { file_path: 'dot.png' })],
      [sayText('It is a dot.')],
    ],
  },
}

/** What the model says to Qwen Code, in the words of its tools. */
export const qwenScripts: Scripts = {
  question: { steps: [[callTool('ask_user_question', { questions: [question] })], [sayText('Thanks.')]] },
  first: { steps: [[sayText('I look.'), callTool('glob', { pattern: '*.md' })], [sayText('The first answer.')]] },
  cut: {
    steps: [
      [sayText('I look again.'), callTool('glob', { pattern: '*.md' })],
      [sayText('It is cut here'), holdAnswer('cut'), sayText(' and here.')],
    ],
  },
  text: { steps: [[think('Let me think.'), sayText('Hello from Qwen.')]] },
  wake: {
    steps: [
      [sayText('I start it.'), callTool('run_shell_command', { ...waiting, is_background: true })],
      {
        branches: [
          { includes: '<task-notification>', pieces: [sayText('It ended.'), callTool('glob', { pattern: '*.md' })] },
        ],
        otherwise: [sayText('It runs.')],
      },
      // Qwen Code shows the text of its own turns when a step has ended.
      [holdAnswer('woken'), sayText('The command is done.')],
    ],
  },
  meanwhile: { steps: [[sayText('The second answer.')]] },
}

const delegateInCodex = (scenario: string) =>
  callTool('multi_agent_v1.spawn_agent', { message: `[scenario:${scenario}] Go` })

const exec = (cmd: string) => callTool('exec_command', { cmd })

const escalated = callTool('exec_command', {
  cmd: make.command,
  sandbox_permissions: 'require_escalated',
  justification: 'May I make a file?',
})

const plan = (first: string, second: string) =>
  callTool('update_plan', {
    plan: [
      { step: 'Read', status: first },
      { step: 'Write', status: second },
    ],
  })

const { multiSelect: _several, ...choice } = question

/** What the model says to codex-acp, in the words of Codex's tools. */
export const codexScripts: Scripts = {
  first: { steps: [[sayText('I look.'), exec('ls')], [sayText('The first answer.')]] },
  cut: {
    steps: [
      [sayText('I look again.'), exec('ls')],
      [sayText('It is cut here'), holdAnswer('cut'), sayText(' and here.')],
    ],
  },
  text: { steps: [[think('Let me think.'), sayText('Hello from Codex.')]] },
  tool: { steps: [[sayText('I look.'), exec('ls')], [sayText('I looked.')]] },
  permission: { steps: [[sayText('I will run it.'), escalated], [sayText('That was it.')]] },
  question: {
    steps: [[callTool('request_user_input', { questions: [{ id: 'color', ...choice }] })], [sayText('Thanks.')]],
  },
  subagent: { steps: [[sayText('I delegate.'), delegateInCodex('child')], [sayText('It runs.')]] },
  child: { steps: [[sayText('The child works.'), escalated], [sayText('The child is done.')]] },
  'subagent-endless': { steps: [[delegateInCodex('endless')], [sayText('It runs.')]] },
  endless: { steps: [[sayText('The child works.'), holdAnswer('child'), sayText(' It never ends.')]] },
  long: {
    steps: [
      [sayText('I begin.'), callTool('exec_command', { cmd: waiting.command, yield_time_ms: 2000 })],
      [sayText('I went on.')],
    ],
  },
  meanwhile: { steps: [[sayText('The second answer.')]] },
  todos: { steps: [[plan('in_progress', 'pending')], [plan('completed', 'in_progress')], [sayText('Planned.')]] },
  abort: { steps: [late] },
  picture: {
    steps: [
      [callTool('exec_command', { cmd: draw, sandbox_permissions: 'require_escalated', justification: 'May I draw?' })],
      [callTool('view_image', { path: 'dot.png' })],
      [sayText('It is a dot.')],
    ],
  },
  error: { steps: [[httpError(401, 'The key is wrong.')]] },
}
