import { testGuarded } from './guarded.ts'

testGuarded('1.18.33')
