import { scenario } from '../scenario.ts'
import { callTool, sayText } from '../script.ts'

/** Turns with tools, without a person. */
export const tools = [
  scenario('parallel-tools', 'Three tools in one step, one of which fails.', {
    files: { 'notes.txt': 'one\ntwo\n' },
    steps: [
      [
        sayText('All at once.'),
        callTool('bash', { command: 'sleep 0.3; echo slow', description: 'Be slow' }),
        callTool('read', { filePath: 'missing.txt' }),
        callTool('read', { filePath: 'notes.txt' }),
      ],
      [sayText('Two came through, one did not.')],
    ],
  }),
  scenario('failing-read', 'A tool fails and the model continues.', {
    steps: [[callTool('read', { filePath: 'missing.txt' })], [sayText('There is no such file.')]],
  }),
  scenario('failing-command', 'A command ends with an exit code, which the server does not treat as a failure.', {
    steps: [
      [callTool('bash', { command: 'echo oops >&2; exit 3', description: 'Fail' })],
      [sayText('It ended with three.')],
    ],
  }),
  scenario('unknown-tool', 'The model calls a tool that does not exist.', {
    steps: [[callTool('frobnicate', { level: 11 })], [sayText('There is no such tool.')]],
  }),
  scenario('bad-arguments', 'The model calls a tool with arguments of the wrong shape.', {
    steps: [[callTool('read', { path: 5 })], [sayText('The arguments were wrong.')]],
  }),
  scenario('chunked-output', 'A command whose output comes bit by bit.', {
    steps: [
      [
        callTool('bash', {
          command: 'for i in 1 2 3 4 5 6; do echo "line $i"; sleep 0.15; done',
          description: 'Count slowly',
        }),
      ],
      [sayText('It counted to six.')],
    ],
  }),
  scenario('large-output', 'A command whose output the server cuts.', {
    steps: [
      [callTool('bash', { command: 'seq -f "line %.0f of a long list" 1 4000', description: 'Say much' })],
      [sayText('That was a lot.')],
    ],
  }),
  scenario('write-edit', 'A file is written and edited; the server reports the patch.', {
    files: { 'list.txt': 'a\nb\nc\n' },
    steps: [
      [sayText('I write and edit.'), callTool('write', { filePath: 'new.txt', content: 'new\n' })],
      [callTool('read', { filePath: 'list.txt' })],
      [callTool('edit', { filePath: 'list.txt', oldString: 'b', newString: 'B' })],
      [sayText('Both files are as you wished.')],
    ],
  }),
]
