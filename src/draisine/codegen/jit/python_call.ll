; Built-in functions that call kernels: see python_call.py, which writes numbers for the names in angle brackets.
;
; Offsets of fields are in bytes. A direct array has its numbers in column-major order without gaps (flags 258: F_CONTIGUOUS and
; ALIGNED); others of at most two dimensions are copied through the room on the stack. Flag 1024 is WRITEABLE.

define internal ptr @field(ptr %object, i64 %offset) alwaysinline nounwind {
  %at = getelementptr inbounds i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at, align 8
  ret ptr %value
}

define internal i32 @small_field(ptr %object, i64 %offset) alwaysinline nounwind {
  %at = getelementptr inbounds i8, ptr %object, i64 %offset
  %value = load i32, ptr %at, align 4
  ret i32 %value
}

define internal i64 @entry(ptr %table, i64 %index) alwaysinline nounwind {
  %at = getelementptr inbounds i64, ptr %table, i64 %index
  %value = load i64, ptr %at, align 1
  ret i64 %value
}

; whether an object is an array of doubles, with so many numbers
define internal i1 @holds(ptr %object, i64 %size) nounwind {
  %type = call ptr @field(ptr %object, i64 <TYPE>)
  %is_array = icmp eq ptr %type, @type_array
  br i1 %is_array, label %array, label %no
array:
  %dtype = call ptr @field(ptr %object, i64 <DTYPE>)
  %is_double = icmp eq ptr %dtype, @doubles
  br i1 %is_double, label %double, label %no
double:
  %n = call i32 @small_field(ptr %object, i64 <DIMENSIONS>)
  %shape = call ptr @field(ptr %object, i64 <SHAPE>)
  br label %axis
axis:
  %k = phi i32 [ 0, %double ], [ %next, %multiply ]
  %count = phi i64 [ 1, %double ], [ %more, %multiply ]
  %left = icmp slt i32 %k, %n
  br i1 %left, label %multiply, label %all
multiply:
  %wide = sext i32 %k to i64
  %length = call i64 @entry(ptr %shape, i64 %wide)
  %more = mul i64 %count, %length
  %next = add i32 %k, 1
  br label %axis
all:
  %equal = icmp eq i64 %count, %size
  ret i1 %equal
no:
  ret i1 false
}

; whether the numbers of an array lie in column-major order without gaps
define internal i1 @is_direct(ptr %object) alwaysinline nounwind {
  %flags = call i32 @small_field(ptr %object, i64 <FLAGS>)
  %both = and i32 %flags, 258
  %direct = icmp eq i32 %both, 258
  ret i1 %direct
}

; whether the numbers can be copied one by one: aligned, at most two dimensions, room on the stack
define internal i1 @can_copy(ptr %object, ptr %room) nounwind {
  %flags = call i32 @small_field(ptr %object, i64 <FLAGS>)
  %bit = and i32 %flags, 256
  %aligned = icmp ne i32 %bit, 0
  %n = call i32 @small_field(ptr %object, i64 <DIMENSIONS>)
  %few = icmp ule i32 %n, 2
  %is_room = icmp ne ptr %room, null
  %one = and i1 %aligned, %few
  %both = and i1 %one, %is_room
  ret i1 %both
}

; between an array of one or two dimensions and the room, in column-major order
define internal void @copy(ptr %object, ptr %room, i1 %out) nounwind {
  %data = call ptr @field(ptr %object, i64 <DATA>)
  %n = call i32 @small_field(ptr %object, i64 <DIMENSIONS>)
  %shape = call ptr @field(ptr %object, i64 <SHAPE>)
  %strides = call ptr @field(ptr %object, i64 <STRIDES>)
  %rows = call i64 @entry(ptr %shape, i64 0)
  %down = call i64 @entry(ptr %strides, i64 0)
  %matrix = icmp eq i32 %n, 2
  br i1 %matrix, label %two, label %begin
two:
  %across = call i64 @entry(ptr %strides, i64 1)
  %columns = call i64 @entry(ptr %shape, i64 1)
  br label %begin
begin:
  %step = phi i64 [ %across, %two ], [ 0, %0 ]
  %end = phi i64 [ %columns, %two ], [ 1, %0 ]
  br label %column
column:
  %j = phi i64 [ 0, %begin ], [ %j_next, %column_done ]
  %at = phi ptr [ %room, %begin ], [ %now, %column_done ]
  %more_columns = icmp slt i64 %j, %end
  br i1 %more_columns, label %column_begin, label %done
column_begin:
  %far = mul i64 %j, %step
  %first = getelementptr i8, ptr %data, i64 %far
  br label %row
row:
  %i = phi i64 [ 0, %column_begin ], [ %i_next, %moved ]
  %now = phi ptr [ %at, %column_begin ], [ %now_next, %moved ]
  %one = phi ptr [ %first, %column_begin ], [ %one_next, %moved ]
  %more_rows = icmp slt i64 %i, %rows
  br i1 %more_rows, label %move, label %column_done
move:
  br i1 %out, label %store, label %load
store:
  %result = load double, ptr %now, align 8
  store double %result, ptr %one, align 8
  br label %moved
load:
  %given = load double, ptr %one, align 8
  store double %given, ptr %now, align 8
  br label %moved
moved:
  %i_next = add i64 %i, 1
  %now_next = getelementptr i8, ptr %now, i64 8
  %one_next = getelementptr i8, ptr %one, i64 %down
  br label %row
column_done:
  %j_next = add i64 %j, 1
  br label %column
done:
  ret void
}

; the numbers of an argument: its own, a copy in the room, or null if it is of another kind
define internal ptr @argument(ptr %object, i64 %size, ptr %room) nounwind {
  %holds = call i1 @holds(ptr %object, i64 %size)
  br i1 %holds, label %array, label %scalar
array:
  %direct = call i1 @is_direct(ptr %object)
  br i1 %direct, label %own, label %scattered
own:
  %data = call ptr @field(ptr %object, i64 <DATA>)
  ret ptr %data
scattered:
  %can = call i1 @can_copy(ptr %object, ptr %room)
  br i1 %can, label %gather, label %no
gather:
  call void @copy(ptr %object, ptr %room, i1 false)
  ret ptr %room
scalar:
  %single = icmp eq i64 %size, 1
  %is_room = icmp ne ptr %room, null
  %possible = and i1 %single, %is_room
  br i1 %possible, label %kind, label %no
kind:
  %type = call ptr @field(ptr %object, i64 <TYPE>)
  %is_float = icmp eq ptr %type, @type_float
  %is_double = icmp eq ptr %type, @type_double
  %real = or i1 %is_float, %is_double
  br i1 %real, label %float, label %whole
float:
  %number = call double @PyFloat_AsDouble(ptr %object)
  store double %number, ptr %room, align 8
  ret ptr %room
whole:
  %is_int = icmp eq ptr %type, @type_int
  br i1 %is_int, label %int, label %no
int:
  %converted = call double @PyLong_AsDouble(ptr %object)
  store double %converted, ptr %room, align 8
  %doubtful = fcmp oeq double %converted, -1.0
  br i1 %doubtful, label %check, label %stored
check:
  %error = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %clear, label %stored
clear:
  call void @PyErr_Clear()
  ret ptr null
stored:
  ret ptr %room
no:
  ret ptr null
}

; whether a given array has the shape of a result and may be written to
define internal i1 @is_result(ptr %object, i64 %size, i64 %rows, i64 %columns) nounwind {
  %holds = call i1 @holds(ptr %object, i64 %size)
  br i1 %holds, label %array, label %no
array:
  %flags = call i32 @small_field(ptr %object, i64 <FLAGS>)
  %bit = and i32 %flags, 1024
  %writable = icmp ne i32 %bit, 0
  br i1 %writable, label %shaped, label %no
shaped:
  %n = call i32 @small_field(ptr %object, i64 <DIMENSIONS>)
  %column = icmp eq i64 %columns, 1
  %axes = select i1 %column, i32 1, i32 2
  %dimensions = icmp eq i32 %n, %axes
  br i1 %dimensions, label %lengths, label %no
lengths:
  %shape = call ptr @field(ptr %object, i64 <SHAPE>)
  %first = call i64 @entry(ptr %shape, i64 0)
  %equal = icmp eq i64 %first, %rows
  br i1 %equal, label %last, label %no
last:
  br i1 %column, label %yes, label %second
second:
  %across = call i64 @entry(ptr %shape, i64 1)
  %same = icmp eq i64 %across, %columns
  ret i1 %same
yes:
  ret i1 true
no:
  ret i1 false
}

; whether numbers [a, a + n) overlap one of the first `count` parts
define internal i1 @overlaps(ptr %a, i64 %n, ptr %pointers, ptr %table, i64 %slot, i64 %count) nounwind {
  %bytes = mul i64 %n, 8
  %end = getelementptr i8, ptr %a, i64 %bytes
  br label %part
part:
  %k = phi i64 [ 0, %0 ], [ %next, %other ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %compare, label %no
compare:
  %b_at = getelementptr inbounds ptr, ptr %pointers, i64 %k
  %b = load ptr, ptr %b_at, align 8
  %number = add i64 %slot, %k
  %line = mul i64 %number, <SLOT>
  %index = add i64 %line, <HEAD>
  %m = call i64 @entry(ptr %table, i64 %index)
  %m_bytes = mul i64 %m, 8
  %b_end = getelementptr i8, ptr %b, i64 %m_bytes
  %before = icmp ule ptr %end, %b
  %after = icmp ule ptr %b_end, %a
  %apart = or i1 %before, %after
  br i1 %apart, label %other, label %yes
other:
  %next = add i64 %k, 1
  br label %part
yes:
  ret i1 true
no:
  ret i1 false
}

define internal ptr @room_of(ptr %rooms, i64 %place) alwaysinline nounwind {
  %none = icmp slt i64 %place, 0
  %at = getelementptr double, ptr %rooms, i64 %place
  %room = select i1 %none, ptr null, ptr %at
  ret ptr %room
}

define ptr @quick_call(ptr %self, ptr %given, i64 %count) nounwind {
start:
  %rooms = alloca [<ROOM> x double], align 64
  %arg = alloca [<MOST> x ptr], align 8
  %res = alloca [<MOST> x ptr], align 8
  %two = icmp eq i64 %count, 2
  br i1 %two, label %begin, label %refuse
begin:
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %kernel_number = call i64 @entry(ptr %table, i64 0)
  %inputs = call i64 @entry(ptr %table, i64 1)
  %outputs = call i64 @entry(ptr %table, i64 2)
  %unlocked = call i64 @entry(ptr %table, i64 3)
  %arguments = load ptr, ptr %given, align 8
  %out_at = getelementptr inbounds ptr, ptr %given, i64 1
  %out = load ptr, ptr %out_at, align 8
  %arguments_type = call ptr @field(ptr %arguments, i64 <TYPE>)
  %arguments_tuple = icmp eq ptr %arguments_type, @type_tuple
  br i1 %arguments_tuple, label %sized, label %refuse
sized:
  %size_given = call i64 @PyTuple_Size(ptr %arguments)
  %as_many = icmp eq i64 %size_given, %inputs
  br i1 %as_many, label %argument_loop, label %refuse

argument_loop:
  %k = phi i64 [ 0, %sized ], [ %k_next, %argument_taken ]
  %arguments_left = icmp slt i64 %k, %inputs
  br i1 %arguments_left, label %take_argument, label %results
take_argument:
  %k_line = mul i64 %k, <SLOT>
  %k_size_index = add i64 %k_line, <HEAD>
  %k_room_index = add i64 %k_size_index, 3
  %k_size = call i64 @entry(ptr %table, i64 %k_size_index)
  %k_place = call i64 @entry(ptr %table, i64 %k_room_index)
  %k_room = call ptr @room_of(ptr %rooms, i64 %k_place)
  %k_object = call ptr @PyTuple_GetItem(ptr %arguments, i64 %k)
  %k_numbers = call ptr @argument(ptr %k_object, i64 %k_size, ptr %k_room)
  %k_refused = icmp eq ptr %k_numbers, null
  br i1 %k_refused, label %refuse, label %argument_taken
argument_taken:
  %arg_at = getelementptr inbounds ptr, ptr %arg, i64 %k
  store ptr %k_numbers, ptr %arg_at, align 8
  %k_next = add i64 %k, 1
  br label %argument_loop

results:
  %is_new = icmp eq ptr %out, @none
  br i1 %is_new, label %new_tuple, label %given_out
given_out:
  %out_type = call ptr @field(ptr %out, i64 <TYPE>)
  %out_tuple = icmp eq ptr %out_type, @type_tuple
  br i1 %out_tuple, label %given_tuple, label %given_array
given_tuple:
  %out_size = call i64 @PyTuple_Size(ptr %out)
  %out_complete = icmp eq i64 %out_size, %outputs
  br i1 %out_complete, label %use_tuple, label %refuse
use_tuple:
  call void @Py_IncRef(ptr %out)
  br label %result_loop_begin
given_array:
  %out_array = icmp eq ptr %out_type, @type_array
  %out_single = icmp eq i64 %outputs, 1
  %out_usable = and i1 %out_array, %out_single
  br i1 %out_usable, label %pack, label %refuse
pack:
  %packed = call ptr @PyTuple_New(i64 1)
  %packed_failed = icmp eq ptr %packed, null
  br i1 %packed_failed, label %error, label %pack_it
pack_it:
  call void @Py_IncRef(ptr %out)
  %pack_status = call i32 @PyTuple_SetItem(ptr %packed, i64 0, ptr %out)
  br label %result_loop_begin

new_tuple:
  %made_tuple = call ptr @PyTuple_New(i64 %outputs)
  %made_failed = icmp eq ptr %made_tuple, null
  br i1 %made_failed, label %error, label %new_begin
new_begin:
  %empty = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  br label %new_loop
new_loop:
  %m = phi i64 [ 0, %new_begin ], [ %m_next, %new_done ]
  %new_left = icmp slt i64 %m, %outputs
  br i1 %new_left, label %new_array, label %run
new_array:
  %shape_place = add i64 %m, 2
  %shape = call ptr @PyTuple_GetItem(ptr %self, i64 %shape_place)
  %array = call ptr @PyObject_CallObject(ptr %empty, ptr %shape)
  %array_failed = icmp eq ptr %array, null
  br i1 %array_failed, label %drop_new, label %new_done
new_done:
  %array_data = call ptr @field(ptr %array, i64 <DATA>)
  %new_at = getelementptr inbounds ptr, ptr %res, i64 %m
  store ptr %array_data, ptr %new_at, align 8
  %set_status = call i32 @PyTuple_SetItem(ptr %made_tuple, i64 %m, ptr %array)
  %m_next = add i64 %m, 1
  br label %new_loop
drop_new:
  call void @Py_DecRef(ptr %made_tuple)
  br label %error

result_loop_begin:
  %results_tuple = phi ptr [ %out, %use_tuple ], [ %packed, %pack_it ]
  br label %result_loop
result_loop:
  %r = phi i64 [ 0, %result_loop_begin ], [ %r_next, %result_taken ]
  %results_left = icmp slt i64 %r, %outputs
  br i1 %results_left, label %take_result, label %run
take_result:
  %r_number = add i64 %inputs, %r
  %r_line = mul i64 %r_number, <SLOT>
  %r_size_index = add i64 %r_line, <HEAD>
  %r_rows_index = add i64 %r_size_index, 1
  %r_columns_index = add i64 %r_size_index, 2
  %r_room_index = add i64 %r_size_index, 3
  %r_size = call i64 @entry(ptr %table, i64 %r_size_index)
  %r_rows = call i64 @entry(ptr %table, i64 %r_rows_index)
  %r_columns = call i64 @entry(ptr %table, i64 %r_columns_index)
  %r_object = call ptr @PyTuple_GetItem(ptr %results_tuple, i64 %r)
  %r_fits = call i1 @is_result(ptr %r_object, i64 %r_size, i64 %r_rows, i64 %r_columns)
  br i1 %r_fits, label %place_result, label %drop
place_result:
  %r_direct = call i1 @is_direct(ptr %r_object)
  br i1 %r_direct, label %result_direct, label %result_copied
result_direct:
  %r_data = call ptr @field(ptr %r_object, i64 <DATA>)
  %over_arguments = call i1 @overlaps(ptr %r_data, i64 %r_size, ptr %arg, ptr %table, i64 0, i64 %inputs)
  %over_results = call i1 @overlaps(ptr %r_data, i64 %r_size, ptr %res, ptr %table, i64 %inputs, i64 %r)
  %over = or i1 %over_arguments, %over_results
  br i1 %over, label %drop, label %result_taken
result_copied:
  %r_place = call i64 @entry(ptr %table, i64 %r_room_index)
  %r_room = call ptr @room_of(ptr %rooms, i64 %r_place)
  %r_can = call i1 @can_copy(ptr %r_object, ptr %r_room)
  %r_single = icmp eq i64 %outputs, 1
  %r_copied = and i1 %r_can, %r_single
  br i1 %r_copied, label %result_taken, label %drop
result_taken:
  %r_numbers = phi ptr [ %r_data, %result_direct ], [ %r_room, %result_copied ]
  %res_at = getelementptr inbounds ptr, ptr %res, i64 %r
  store ptr %r_numbers, ptr %res_at, align 8
  %r_next = add i64 %r, 1
  br label %result_loop
drop:
  call void @Py_DecRef(ptr %results_tuple)
  br label %refuse

run:
  %returned = phi ptr [ %made_tuple, %new_loop ], [ %results_tuple, %result_loop ]
  %kernel = inttoptr i64 %kernel_number to ptr
  %is_unlocked = icmp ne i64 %unlocked, 0
  br i1 %is_unlocked, label %unlock, label %locked
unlock:
  %thread = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %arg, ptr %res)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %computed
locked:
  call void %kernel(ptr %arg, ptr %res)
  br label %computed
computed:
  %only_one = icmp eq i64 %outputs, 1
  br i1 %only_one, label %maybe_scatter, label %finished
maybe_scatter:
  %only = call ptr @PyTuple_GetItem(ptr %returned, i64 0)
  %only_numbers = load ptr, ptr %res, align 8
  %only_data = call ptr @field(ptr %only, i64 <DATA>)
  %is_there = icmp eq ptr %only_numbers, %only_data
  br i1 %is_there, label %finished, label %scatter
scatter:
  call void @copy(ptr %only, ptr %only_numbers, i1 true)
  br label %finished
finished:
  ret ptr %returned

refuse:
  call void @Py_IncRef(ptr @none)
  ret ptr @none
error:
  ret ptr null
}

; addresses of arrays, and their strides in doubles; 0 for one column that all samples share
define internal i1 @rows(ptr %arrays, i64 %count, ptr %pointers, ptr %steps) nounwind {
  %type = call ptr @field(ptr %arrays, i64 <TYPE>)
  %is_tuple = icmp eq ptr %type, @type_tuple
  br i1 %is_tuple, label %sized, label %no
sized:
  %size = call i64 @PyTuple_Size(ptr %arrays)
  %complete = icmp eq i64 %size, %count
  br i1 %complete, label %each, label %no
each:
  %k = phi i64 [ 0, %sized ], [ %next, %known ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %take, label %yes
take:
  %array = call ptr @PyTuple_GetItem(ptr %arrays, i64 %k)
  %array_type = call ptr @field(ptr %array, i64 <TYPE>)
  %is_array = icmp eq ptr %array_type, @type_array
  br i1 %is_array, label %read, label %no
read:
  %data = call ptr @field(ptr %array, i64 <DATA>)
  %at = getelementptr inbounds ptr, ptr %pointers, i64 %k
  store ptr %data, ptr %at, align 8
  %n = call i32 @small_field(ptr %array, i64 <DIMENSIONS>)
  %is_batch = icmp eq i32 %n, 2
  br i1 %is_batch, label %stride, label %known
stride:
  %strides = call ptr @field(ptr %array, i64 <STRIDES>)
  %bytes = call i64 @entry(ptr %strides, i64 0)
  %doubles = sdiv i64 %bytes, 8
  br label %known
known:
  %step = phi i64 [ 0, %read ], [ %doubles, %stride ]
  %step_at = getelementptr inbounds i64, ptr %steps, i64 %k
  store i64 %step, ptr %step_at, align 8
  %next = add i64 %k, 1
  br label %each
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @quick_map(ptr %self, ptr %given, i64 %count) nounwind {
start:
  %arg = alloca [<MOST> x ptr], align 8
  %arg_steps = alloca [<MOST> x i64], align 8
  %res = alloca [<MOST> x ptr], align 8
  %res_steps = alloca [<MOST> x i64], align 8
  %three = icmp eq i64 %count, 3
  br i1 %three, label %begin, label %refuse
begin:
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %kernel_number = call i64 @entry(ptr %table, i64 0)
  %inputs = call i64 @entry(ptr %table, i64 1)
  %outputs = call i64 @entry(ptr %table, i64 2)
  %number = load ptr, ptr %given, align 8
  %batches_at = getelementptr inbounds ptr, ptr %given, i64 1
  %batches = load ptr, ptr %batches_at, align 8
  %results_at = getelementptr inbounds ptr, ptr %given, i64 2
  %results = load ptr, ptr %results_at, align 8
  %type = call ptr @field(ptr %number, i64 <TYPE>)
  %is_int = icmp eq ptr %type, @type_int
  br i1 %is_int, label %counted, label %refuse
counted:
  %samples = call i64 @PyLong_AsSsize_t(ptr %number)
  %read = call i1 @rows(ptr %batches, i64 %inputs, ptr %arg, ptr %arg_steps)
  %write = call i1 @rows(ptr %results, i64 %outputs, ptr %res, ptr %res_steps)
  %ready = and i1 %read, %write
  br i1 %ready, label %run, label %refuse
run:
  %kernel = inttoptr i64 %kernel_number to ptr
  %thread = call ptr @PyEval_SaveThread()
  call void %kernel(i64 %samples, ptr %arg, ptr %arg_steps, ptr %res, ptr %res_steps)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr %results)
  ret ptr %results
refuse:
  call void @Py_IncRef(ptr @none)
  ret ptr @none
}
