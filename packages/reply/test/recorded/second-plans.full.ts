import { playPlans } from './plans.ts'

playPlans({ generation: 2, first: 1, count: 400 })
