import { testFloods } from './floods.ts'

testFloods([
  ['bridge', 'slack', 'unsigned', 64],
  ['bridge', 'telegram', 'unsigned', 64],
  ['bridge', 'discord', 'unsigned', 64],
  ['bridge', 'whatsapp', 'unsigned', 64],
  ['pairing', 'slack', 'unsigned', 64],
  ['bridge', 'telegram', 'forged', 64],
])
