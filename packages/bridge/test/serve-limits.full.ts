import { testFloods } from './floods.ts'

// `serve-limits.nightly.ts` has the others.
testFloods([
  ['bridge', 'nothing', 'unsigned', 64],
  ['bridge', 'slack', 'forged', 160],
  ['bridge', 'discord', 'forged', 160],
  ['bridge', 'whatsapp', 'forged', 160],
  ['pairing', 'slack', 'forged', 160],
])
