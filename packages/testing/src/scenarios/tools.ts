import { scenario } from '../scenario.ts'
import { text, tool } from '../script.ts'

/** Turns with tools, without a person. */
export const tools = [
  scenario('parallel-tools', 'Three tools in one step, one of which fails.', {
    files: { 'notes.txt': 'one\ntwo\n' },
    steps: [
      [
        text('All at once.'),
        tool('bash', { command: 'sleep 0.3; echo slow', description: 'Be slow' }),
        tool('read', { filePath: 'missing.txt' }),
        tool('read', { filePath: 'notes.txt' }),
      ],
      [text('Two came through, one did not.')],
    ],
  }),
  scenario('failing-read', 'A tool fails and the model continues.', {
    steps: [[tool('read', { filePath: 'missing.txt' })], [text('There is no such file.')]],
  }),
  scenario('failing-command', 'A command ends with an exit code, which the server does not treat as a failure.', {
    steps: [[tool('bash', { command: 'echo oops >&2; exit 3', description: 'Fail' })], [text('It ended with three.')]],
  }),
  scenario('unknown-tool', 'The model calls a tool that does not exist.', {
    steps: [[tool('frobnicate', { level: 11 })], [text('There is no such tool.')]],
  }),
  scenario('bad-arguments', 'The model calls a tool with arguments of the wrong shape.', {
    steps: [[tool('read', { path: 5 })], [text('The arguments were wrong.')]],
  }),
  scenario('chunked-output', 'A command whose output comes bit by bit.', {
    steps: [
      [
        tool('bash', {
          command: 'for i in 1 2 3 4 5 6; do echo "line $i"; sleep 0.15; done',
          description: 'Count slowly',
        }),
      ],
      [text('It counted to six.')],
    ],
  }),
  scenario('large-output', 'A command whose output the server cuts.', {
    steps: [
      [tool('bash', { command: 'seq -f "line %.0f of a long list" 1 4000', description: 'Say much' })],
      [text('That was a lot.')],
    ],
  }),
  scenario('write-edit', 'A file is written and edited; the server reports the patch.', {
    files: { 'list.txt': 'a\nb\nc\n' },
    steps: [
      [text('I write and edit.'), tool('write', { filePath: 'new.txt', content: 'new\n' })],
      [tool('read', { filePath: 'list.txt' })],
      [tool('edit', { filePath: 'list.txt', oldString: 'b', newString: 'B' })],
      [text('Both files are as you wished.')],
    ],
  }),
]
